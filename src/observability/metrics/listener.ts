import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { PrometheusMetrics } from './prometheus.js'

/** The address of the metrics: not the gateway's, since any client that reaches it may read them without a key. */
interface MetricsAddress { readonly host: string, readonly port: number }

/** Serves `GET /metrics` there and nothing else. */
export async function startMetricsServer (
  metrics: Pick<PrometheusMetrics, 'text' | 'contentType'>,
  { host, port }: MetricsAddress
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer(
    { requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 8_192 },
    (request, response) => {
      const isRequested = request.method === 'GET' && request.url === '/metrics'
      if (!isRequested) return response.writeHead(404).end()
      metrics.text().then(
        text => response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' }).end(text),
        () => response.writeHead(500).end()
      )
    }
  )
  // No scraper needs more; floods of connections are not served.
  server.maxConnections = 20
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`metrics cannot be served (${error.code}); choose another metrics.port or metrics.host`, {
      cause: error
    })
  })
  const { address, family, port: taken } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}
