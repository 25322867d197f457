import { request } from 'undici'
import type { ControlService } from '../../control-plane/store/desk.js'
import { ControlError } from '../../control-plane/store/control-error.js'

/** The methods of the control service that commands use, here or at a control plane elsewhere. */
export type AdminClient = Pick<ControlService, 'listOrganizations' | 'createOrganization' | 'changeOrganization' |
  'listKeys' | 'createKey' | 'rollKey' | 'revokeKey' | 'changeKey' |
  'listTokens' | 'createToken' | 'revokeToken' | 'listGateways' | 'listMembers' | 'resetPassword' | 'bill'>

/** The URL of a control plane elsewhere, and the token for it. */
export interface AdminApiOptions { readonly url: string, readonly token: string }

const timeoutMs = 30_000

/** The client of a token for the management API of a control plane elsewhere. */
export function adminClient (options: AdminApiOptions): AdminClient {
  const get = <T>(path: string) => send<T>(options, 'GET', path)
  const post = <T>(path: string, body?: object) => send<T>(options, 'POST', path, body)
  const patch = <T>(path: string, body: object) => send<T>(options, 'PATCH', path, body)
  const of = (tenantId: string | undefined, rest: string) =>
    tenantId === undefined ? rest : `organizations/${id(tenantId)}/${rest}`
  return {
    listOrganizations: () => get('organizations'),
    createOrganization: draft => post('organizations', draft),
    changeOrganization: (tenantId, changes) => patch(`organizations/${id(tenantId)}`, changes),
    listKeys: tenantId => get(of(tenantId, 'keys')),
    createKey: ({ tenantId, ...draft }) => post(of(tenantId, 'keys'), draft),
    rollKey: (keyId, overlapMs) => post(`keys/${id(keyId)}/roll`, { overlapSeconds: overlapMs / 1_000 }),
    revokeKey: keyId => post(`keys/${id(keyId)}/revoke`),
    changeKey: (keyId, changes) => patch(`keys/${id(keyId)}`, changes),
    listTokens: tenantId => get(of(tenantId, 'tokens')),
    createToken: ({ tenantId, ...draft }) => post(of(tenantId, 'tokens'), draft),
    revokeToken: tokenId => post(`tokens/${id(tokenId)}/revoke`),
    listGateways: () => get('gateways'),
    bill: (tenantId, month) => get(`organizations/${id(tenantId)}/bills/${id(month)}`),
    listMembers: tenantId => get(tenantId === undefined ? 'operators' : of(tenantId, 'members')),
    resetPassword: memberId => post(`members/${id(memberId)}/reset-password`)
  }
}

const id = encodeURIComponent

async function send<T> (
  { url, token }: AdminApiOptions,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: object
): Promise<T> {
  const response = await sendRequest(`${url}/control/v1/${path}`, {
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
