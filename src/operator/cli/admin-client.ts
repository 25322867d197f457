import { request } from 'undici'
import type { Operation } from '../../control-plane/admin-api/operation.js'
import { ControlError } from '../../control-plane/store/control-error.js'

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
export function adminClient (options: AdminApiOptions): CallOperation {
  return ({ method, path }, ids, body?) => send(options, { method, path: pathWith(path, ids as Ids), body })
}

type Ids = Readonly<Record<string, string>>

const pathWith = (path: string, ids: Ids): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(ids[name]!))

interface AdminRequest extends Pick<Operation, 'method' | 'path'> { readonly body: unknown }

async function send<T> ({ url, token }: AdminApiOptions, { method, path, body }: AdminRequest): Promise<T> {
  const response = await sendRequest(`${url}/control/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const read = (await response.body.json().catch(() => undefined)) as
    { data?: T; message?: string; issues?: ReadonlyArray<{ diagnostics: string }> } | undefined
  if (response.statusCode < 300 && read?.data !== undefined) return read.data
  if (typeof read?.message !== 'string') {
    throw new Error(
      `the server at the control plane's URL is not a control plane (status ${response.statusCode}); check CONTROL_URL`
    )
  }
  const message =
    read.message + (response.statusCode === 401 ? ' Commands take it from the variable CONTROL_TOKEN.' : '')
  throw new ControlError(
    'invalid',
    [message, ...(read.issues ?? []).map(issue => `  - ${issue.diagnostics}`)].join('\n')
  )
}

async function sendRequest (url: string, options: Parameters<typeof request>[1]) {
  try {
    return await request(url, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, ...options })
  } catch (error) {
    throw new Error(
      `the control plane does not respond (${(error as NodeJS.ErrnoException).code ?? 'no connection'}); check CONTROL_URL and that the control plane is running`
    )
  }
}
