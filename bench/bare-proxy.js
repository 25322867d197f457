// The peer of the benchmarks: @fastify/http-proxy with nothing around it.
// Usage: node bench/bare-proxy.js <upstream base URL>; prints its own.
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'

const upstream = new URL(process.argv[2])
const app = Fastify()
await app.register(proxy, {
  upstream: upstream.origin,
  prefix: '/fhir',
  rewritePrefix: upstream.pathname,
  disableRequestLogging: true
})
console.log(`${await app.listen({ port: 0, host: '127.0.0.1' })}/fhir`)
process.on('SIGTERM', () => process.exit(0))
