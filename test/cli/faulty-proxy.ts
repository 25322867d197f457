import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/**
 * What a test does with one request: passes it on, cuts it off after so many bytes of the response or of its own body,
 * holds it, or responds in place of the gateway.
 */
type Fate =
  | 'passed'
  | { readonly cutAfter: number }
  | { readonly holdAfter: number }
  | { readonly cutBodyAfter: number }
  | { readonly status: number, readonly headers?: Readonly<Record<string, string>>, readonly body?: string }

/** A request that the proxy received. */
export interface Seen { readonly method: string, readonly url: string, readonly headers: IncomingMessage['headers'] }

/** A proxy in front of a gateway that disturbs requests like a bad network. */
interface FaultyProxy { readonly url: string, readonly seen: readonly Seen[] }

export async function startFaultyProxy (
  t: Test,
  target: string,
  toOutcome: (seen: Seen, before: readonly Seen[]) => Fate
): Promise<FaultyProxy> {
  const seen: Seen[] = []
  const server = createServer((from, to) => {
    const now = { method: from.method!, url: from.url!, headers: from.headers }
    const outcome = toOutcome(now, [...seen])
    seen.push(now)
    if (outcome !== 'passed' && 'status' in outcome) {
      to.writeHead(outcome.status, { 'content-type': 'application/json', connection: 'close', ...outcome.headers }).end(
        outcome.body ?? ''
      )
    } else pass({ from, to, target }, outcome)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

interface Passing { readonly from: IncomingMessage, readonly to: ServerResponse, readonly target: string }

function pass ({ from, to, target }: Passing, outcome: Exclude<Fate, { readonly status: number }>): void {
  const onward = request(
    `${target}${from.url}`,
    { method: from.method, headers: from.headers, agent: false },
    response => {
      to.writeHead(response.statusCode!, response.headers)
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (outcome !== 'passed' && 'cutAfter' in outcome && bytes > outcome.cutAfter) {
          to.write(chunk.subarray(0, Math.max(0, chunk.length - (bytes - outcome.cutAfter))), () => to.destroy())
          response.destroy()
        } else if (outcome !== 'passed' && 'holdAfter' in outcome && bytes > outcome.holdAfter) {
          to.write(chunk.subarray(0, Math.max(0, chunk.length - (bytes - outcome.holdAfter))))
          response.pause().removeAllListeners('data')
        } else to.write(chunk)
      })
      response.on('end', () => to.end())
      response.on('error', () => to.destroy())
    }
  )
  onward.on('error', () => to.destroy())
  let bytes = 0
  from.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (outcome !== 'passed' && 'cutBodyAfter' in outcome && bytes > outcome.cutBodyAfter) {
      onward.destroy()
      from.destroy()
    } else onward.write(chunk)
  })
  from.on('end', () => onward.end())
  from.on('close', () => { if (!from.complete) onward.destroy() })
}
