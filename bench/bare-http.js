// The minimal cost of a proxy in Node.js: its HTTP server and undici, with no framework and no check.
// Usage: node bench/bare-http.js <upstream base URL>; prints its own.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const upstream = new URL(process.argv[2])
const pool = new Pool(upstream.origin, { connections: 128 })

const server = createServer((request, response) => {
  const { method, url: path, headers: { host: _, connection: __, ...headers } } = request
  const body = method === 'GET' ? null : request
  pool.stream({ method, path, headers, body }, ({ statusCode, headers }) => response.writeHead(statusCode, headers))
    .catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${upstream.pathname}`))
process.on('SIGTERM', () => process.exit(0))
