import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { TLSSocket, createSecureContext } from 'node:tls'
import t from 'tap'
import { openPostgres } from '../../src/control-plane/store/database/postgres.js'

const backends = join(import.meta.dirname, '../backends')
const cert = join(backends, 'expired.pem')

t.test(
  'where the certificate of PostgreSQL has expired, it is said so, and nobody is sent to look for its authority',
  async t => {
    const secureContext = createSecureContext({
      key: readFileSync(join(backends, 'self-signed-key.pem')),
      cert: readFileSync(cert)
    })
    // PostgreSQL up to the point where TLS begins: it says yes to the question for it.
    const server = createServer(socket => {
      socket.once('data', () => {
        socket.write('S')
        new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {})
      })
      socket.on('error', () => {})
    })
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve)
    })
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    await t.rejects(
      openPostgres(
        `postgres://user:s3cret@localhost:${port}/control?sslmode=verify-full&sslrootcert=${encodeURIComponent(cert)}`
      ),
      {
        name: 'DatabaseUnavailable',
        remedy: /has expired, or is not valid yet.*\(CERT_(?:HAS_EXPIRED|NOT_YET_VALID)\)$/
      }
    )
  }
)
