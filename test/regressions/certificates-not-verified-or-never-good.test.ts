import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ConfigError, loadConfig } from '../../src/config/load.js'

function mistakesOf (environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment)
    return []
  } catch (error) {
    return (error as ConfigError).errors
  }
}

// Node passes over what is no certificate: the gateway started, and refused every answer of the datastore.
t.test('a file of authorities that holds none is a mistake, of a datastore and of its token server', async t => {
  const directory = t.testdir({ 'ca.pem': 'a page that asks to sign in' })
  const caFile = join(directory, 'ca.pem')
  const mistakesWith = (settings: object) => {
    const file = join(directory, 'config.json')
    writeFileSync(file, JSON.stringify({ datastores: { a: { url: 'https://h', ...settings } } }))
    return mistakesOf({ CLINIGATE_CONFIG: file, S: 's3cret' })
  }
  t.strictSame(mistakesWith({ caFile }), ['datastores.a.caFile: the file must hold certificates in PEM'])
  const auth = { type: 'oauth2', tokenUrl: 'https://t/token', clientId: 'c', clientSecretEnv: 'S', caFile }
  t.strictSame(mistakesWith({ auth }), ['datastores.a.auth: caFile: the file must hold certificates in PEM'])
  const good = join(import.meta.dirname, '../backends/self-signed.pem')
  t.strictSame(mistakesWith({ caFile: good, auth: { ...auth, caFile: good } }), [])
})

// PostgreSQL and Redis were spoken to with whoever was there.
t.test('Node\'s switch against verifying certificates is a mistake', async t => {
  t.match(mistakesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }), [
    /^NODE_TLS_REJECT_UNAUTHORIZED: .*always verified.*NODE_EXTRA_CA_CERTS/
  ])
  t.strictSame(mistakesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '1' }), [])
})
