import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { BackgroundTask } from '../../src/time/background-task.js'

/**
 * A load balancer in front of several gateways: it sends each request to the next one that is ready, once, without
 * retries.
 */
interface Balancer {
  readonly url: string
  /** The gateways that were ready at the last poll. */
  readonly ready: () => readonly string[]
  /** The number of requests to each. */
  readonly sent: ReadonlyMap<string, number>
}

const lookEveryMs = 100

/** An older poll does not count: the balancer may have stalled, and a gateway need not wait for it for ever. */
const freshMs = 1_500

/**
 * Starts a load balancer as operators have one: it polls `/health/ready`, and reuses no connection that a gateway may
 * close.
 */
export async function startBalancer (t: Test, gateways: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: false })
  const sent = new Map(gateways.map(url => [url, 0]))
  let ready: readonly string[] = []
  let turn = 0
  let requestedAt = -Infinity
  const looking = new BackgroundTask(async () => {
    const began = performance.now()
    const results = await Promise.all(
      gateways.map(url =>
        fetch(`${url}/health/ready`).then(
          response => response.ok,
          () => false
        )
      )
    )
    ready = gateways.filter((_, at) => results[at])
    requestedAt = began
    return lookEveryMs
  })
  const server = createServer(async (requested, response) => {
    while (ready.length === 0 || performance.now() - requestedAt > freshMs) await pause(lookEveryMs)
    const to = ready[turn++ % ready.length]!
    sent.set(to, sent.get(to)! + 1)
    const passed = request(
      `${to}${requested.url}`,
      { method: requested.method, headers: requested.headers, agent },
      received => {
        response.writeHead(received.statusCode!, received.headers)
        received.pipe(response)
      }
    )
    passed.on('error', () => response.headersSent ? response.destroy() : response.writeHead(502).end())
    requested.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    await looking.stop()
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ready: () => ready, sent }
}
