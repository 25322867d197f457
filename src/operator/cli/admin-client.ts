import { ClinigateError } from '../../client/errors.js'
import { findErrorCode } from '../../client/retry.js'
import { connect, createSender } from '../../client/send.js'
import type { Operation } from '../../control-plane/admin-api/operation.js'
import { ControlError } from '../../control-plane/store/control-error.js'
import { Failure } from '../../envelope/failures.js'
import { fetchFromAnyPort } from './fetch.js'

/**
 * Calls an operation of the management API and resolves with its data: here with a control service, or at a control
 * plane elsewhere.
 */
export type CallOperation = <Ids, Body, Data>(
  operation: Operation<Ids, any, Body, Data>,
  ids: Ids,
  ...body: undefined extends Body ? [] : [Body]
) => Promise<Data>

/** The URL of a control plane elsewhere, and the token for it. */
export interface AdminApiOptions { readonly url: string, readonly token: string }

const timeoutMs = 30_000

/** Calls operations of a control plane elsewhere with a token. */
export function createAdminClient ({ url, token }: AdminApiOptions): CallOperation {
  const send = createSender(connect({
    url: `${url}/control/v1`,
    headers: { authorization: `Bearer ${token}` },
    retry: { attempts: 1, timeoutMs },
    fetch: fetchFromAnyPort
  }))
  return async <Data>({ method, path }: Operation, ids: unknown, body?: unknown): Promise<Data> => {
    try {
      return await send<Data>({
        method,
        path: path.replaceAll(/:(\w+)/g, '{$1}'),
        ids: ids as Readonly<Record<string, string>>,
        body
      })
    } catch (error) {
      throw error instanceof ClinigateError ? toReadableError(error) : error
    }
  }
}

const unknownPath = new Failure('NOT_FOUND').message

/** The error as the person at the terminal reads it. */
function toReadableError (error: ClinigateError): Error {
  const { code, status, message, issues } = error
  if (code === 'NETWORK_ERROR') {
    return new Error(
      `the control plane does not respond (${findErrorCode(error) ?? 'no connection'}); check CONTROL_URL and that the control plane is running`
    )
  }
  // A control plane names what it does not have. A gateway does not know the path.
  if (code === 'UNEXPECTED_RESPONSE' || (status === 404 && message === unknownPath)) {
    return new Error(
      `the server at the control plane's URL is not a control plane (status ${status}); check CONTROL_URL`
    )
  }
  const remedy = status === 401 ? ' Commands take it from the variable CONTROL_TOKEN.' : ''
  return new ControlError('invalid', [message + remedy, ...issues.map(issue => `  - ${issue.diagnostics}`)].join('\n'))
}
