import diagnostics from 'node:diagnostics_channel'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import type { Attack } from './attacks/attack.js'
import type { AttackWorld } from './attack-world.js'
import { probePath } from '../../src/backends/http-backend.js'

/** A request that the gateway sent to a datastore. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The outcome of a request as its sender sees it, and the requests that the gateway sent to its datastore for it. */
export interface Outcome {
  /** The bytes that were sent. */
  readonly sent: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly calls: readonly Call[]
}

/** Sends an attack byte for byte, with `requestId` so that its lines in the log are known. */
export async function sendAttack ({ gateway, keys }: AttackWorld, attack: Attack, requestId: string): Promise<Outcome> {
  const sent = toBytes(attack, { key: keys[attack.as ?? 'attacker'], requestId })
  const { result, calls } = await watchCalls(() => exchangeRaw(gateway.url, sent))
  const response = parseResponses(result).find(({ status }) => status >= 200)
  if (response === undefined) throw new Error(`${attack.row}: no answer to ${attack.send}`)
  return { sent: sent.toString(), status: response.status, headers: response.headers, text: response.text, calls }
}

function toBytes (
  { send, headers = [], body, http = '1.1' }: Attack,
  { key, requestId }: { readonly key: string | undefined; readonly requestId: string }
): Buffer {
  const [, method = '', target = ''] = /^(\S+) ?(.*)$/s.exec(send) ?? []
  const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  // A line that begins with `!` stands in place of the one that is always sent.
  const own = (name: string): boolean => headers.some(line => line.toLowerCase().startsWith(`!${name}:`))
  const has = (name: string): boolean => headers.some(line => line.toLowerCase().startsWith(`${name}:`))
  const lines = [
    `${method} ${target.startsWith('!') ? target.slice(1) : `/v1/fhir${target}`} HTTP/${http}`,
    ...(own('host') ? [] : ['host: gateway.test']),
    ...(own('x-request-id') ? [] : [`x-request-id: ${requestId}`]),
    ...(key === undefined ? [] : [`x-api-key: ${key}`]),
    ...(content === undefined || has('content-type') ? [] : ['content-type: application/fhir+json']),
    ...(content === undefined || has('content-length') || has('transfer-encoding')
      ? []
      : [`content-length: ${Buffer.byteLength(content)}`]),
    ...headers.map(line => line.replace(/^!/, '')),
    'connection: close'
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content ?? ''}`)
}

const created = 'undici:request:create'

interface Created {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: string | readonly string[]
    readonly body: unknown
  }
}

/** Runs `work` and reports the requests that this process's HTTP client sent meanwhile. */
export async function watchCalls<T> (
  work: () => Promise<T>
): Promise<{ readonly result: T; readonly calls: readonly Call[] }> {
  const calls: Call[] = []
  const note = (message: unknown): void => {
    const { method, path, headers, body } = (message as Created).request
    // The gateway probes its datastores by itself now and then, whatever is sent to it.
    if (path.endsWith(`/${probePath}`) || path.endsWith('/metadata')) return
    calls.push({
      method,
      path,
      headers: parseHeaders(headers),
      body: typeof body === 'string' ? body : Buffer.isBuffer(body) ? body.toString() : ''
    })
  }
  diagnostics.subscribe(created, note)
  try {
    return { result: await work(), calls }
  } finally {
    diagnostics.unsubscribe(created, note)
  }
}

function parseHeaders (headers: string | readonly string[]): Record<string, string> {
  const pairs =
    typeof headers === 'string'
      ? headers
        .split('\r\n')
        .filter(line => line !== '')
        .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const)
      : Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i]!, headers[2 * i + 1]!] as const)
  return Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
}
