// The peer of the benchmarks: @fastify/http-proxy with nothing around it.
// Usage: node bench/bare-proxy.js <upstream base URL> [processes]; prints its own.
import cluster from 'node:cluster'
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import { findFreePort } from './processes.js'

const [url, processes = '1'] = process.argv.slice(2)

if (processes === '1') console.log(`${await serve(0)}/fhir`)
else if (cluster.isPrimary) {
  const port = await findFreePort()
  const workers = Array.from({ length: Number(processes) }, () => cluster.fork({ PORT: port }))
  await Promise.all(workers.map(worker => new Promise(resolve => worker.once('message', resolve))))
  console.log(`http://127.0.0.1:${port}/fhir`)
} else {
  process.send(await serve(Number(process.env.PORT)))
}
process.on('SIGTERM', () => process.exit(0))

async function serve (port) {
  const upstream = new URL(url)
  const app = Fastify()
  await app.register(proxy, {
    upstream: upstream.origin,
    prefix: '/fhir',
    rewritePrefix: upstream.pathname,
    disableRequestLogging: true
  })
  return await app.listen({ port, host: '127.0.0.1', reusePort: processes !== '1' })
}
