import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { getOwnUrl } from '../../src/bootstrap/own-config.js'
import { ensureCursorSecret } from '../../src/config/secrets.js'
import { ConfigError, loadConfig } from '../../src/config/load.js'
import { openPostgres } from '../../src/control-plane/store/database/postgres.js'

// A gateway that was to listen at `::` did not start, and reported `Invalid URL`.
t.test('the URL of a gateway that listens at an IPv6 address has the address in brackets', async t => {
  for (const [HOST, url] of [
    ['::', 'http://[::]:8080'],
    ['::1', 'http://[::1]:8080'],
    ['127.0.0.1', 'http://127.0.0.1:8080']
  ] as const) {
    t.equal(getOwnUrl(loadConfig({ HOST, CLINIGATE_DATA: t.testdir() })), url)
    t.equal(new URL(url).port, '8080')
  }
})

// With the variables of `clinigate bulk` exported, as its how-to says, no other command could be used in that shell.
t.test('the variables of clinigate bulk do not prevent any other command', async t => {
  const environment = {
    CLINIGATE_DATA: t.testdir(),
    CLINIGATE_API_KEY: 'svc_test_…',
    CLINIGATE_URL: 'http://127.0.0.1:8080'
  }
  t.doesNotThrow(() => loadConfig(environment))
  t.throws(() => loadConfig({ ...environment, CLINIGATE_APIKEY: '' }), {
    message: /CLINIGATE_APIKEY: no such variable/
  })
})

// Only names beginning with CLINIGATE_ were checked, so FHIR_LIVE_ULR was ignored and live records went into the
// embedded sandbox.
t.test('a variable that is nearly one of ours is a mistake, whatever its prefix', async t => {
  const CLINIGATE_DATA = t.testdir()
  const misspelt = {
    FHIR_LIVE_ULR: 'FHIR_LIVE_URL',
    FHIR_TESTURL: 'FHIR_TEST_URL',
    AUDIT_LOGFILE: 'AUDIT_LOG_FILE',
    CONTROL_DATABASE_URI: 'CONTROL_DATABASE_URL',
    METRIC_PORT: 'METRICS_PORT',
    TRUSTED_PROXYS: 'TRUSTED_PROXIES'
  }
  for (const [name, meant] of Object.entries(misspelt)) {
    t.throws(
      () => loadConfig({ CLINIGATE_DATA, [name]: 's3cret' }),
      { message: `The configuration has 1 mistake:\n  - ${name}: no such variable; did you mean ${meant}?` },
      name
    )
  }
})

t.test('variables of other programs, and of secrets that the configuration names, are ignored', async t => {
  const CLINIGATE_DATA = t.testdir()
  const others = {
    POST: 'x',
    GHOST: 'x',
    PATH: 'x',
    SPORT: 'x',
    FHIR_TOKEN: 'x',
    FHIR_PASSWORD: 'x',
    FHIR_SUBSCRIPTION_KEY: 'x',
    REDIS_PORT: 'tcp://10.0.0.1:6379',
    OTEL_SERVICE_NAME: 'x'
  }
  t.doesNotThrow(() => loadConfig({ CLINIGATE_DATA, ...others }))
  for (const REDIS_URL of ['', 'redis://127.0.0.1:6379']) {
    t.doesNotThrow(() => loadConfig({ CLINIGATE_DATA, REDIS_URL, REDIS_URI: 'redis://another' }))
  }
})

function getSettingsErrors (t: Test, settings: object, environment: Record<string, string> = {}): string[] {
  const file = join(t.testdir(), 'settings.json')
  writeFileSync(file, JSON.stringify(settings))
  try {
    loadConfig({ CLINIGATE_CONFIG: file, ...environment })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...error.errors].sort()
  }
}

// With one digit too many in a number, mistakes in secrets, certificates and routes were not reported until the next
// start.
t.test('a mistake in one setting hides none in others', async t => {
  t.strictSame(
    getSettingsErrors(
      t,
      {
        port: 'x',
        datastores: {
          first: { url: 'ftp://h', auth: { type: 'bearer', tokenFile: '/nowhere' } },
          second: { url: 'http://h', auth: { type: 'bearer', tokenFile: '/nowhere' } },
          third: { url: 'http://h', caFile: '/nowhere' }
        },
        routing: { live: 'secnod', test: 'first' },
        control: { gatewayName: 'a b', gatewayTokenFile: '/nowhere' },
        cursor: { secretFile: '/nowhere' },
        auditLog: { auditEvents: true, fileBytes: 1 },
        limits: { bodyBytes: 1, redisUrlFile: '/nowhere' },
        dashboard: { sessionHours: 0, localAccounts: false }
      },
      { CLINIGATE_ROLE: 'gateway', CONTROL_DATABASE_URL: 'mysql://h' }
    ).map(error => error.replace(/: .*?(; did.*)?$/, '$1')),
    [
      'auditLog.auditEvents',
      'auditLog.fileBytes',
      'control.databaseUrlFile (or CONTROL_DATABASE_URL)',
      'control.databaseUrlFile (or CONTROL_DATABASE_URL)',
      'control.gatewayName',
      'control.gatewayTokenFile (or CLINIGATE_GATEWAY_TOKEN)',
      'control.gatewayTokenFile',
      'control.url (or CONTROL_URL)',
      'cursor.secretFile',
      'dashboard.localAccounts',
      'dashboard.sessionHours',
      'datastores.first.url',
      'datastores.second.auth',
      'datastores.third.caFile',
      'limits.bodyBytes',
      'limits.redisUrlFile',
      'port',
      'routing.live; did you mean second?'
    ]
  )
})

t.test('a setting of the wrong type is reported once, by whichever code reads it', async t => {
  t.strictSame(
    getSettingsErrors(t, { datastores: null, routing: { live: 'x' } }).map(error => error.split(':')[0]),
    ['datastores']
  )
  t.strictSame(
    getSettingsErrors(t, { datastores: { a: null }, routing: { live: 'a' } }).map(error => error.split(':')[0]),
    ['datastores.a']
  )
  for (const name of ['routing', 'control', 'cursor', 'limits', 'dashboard', 'auditLog', 'role']) {
    t.strictSame(getSettingsErrors(t, { [name]: 5 }).map(error => error.split(':')[0]), [name])
  }
  t.strictSame(
    getSettingsErrors(t, { dashboard: { localAccounts: false, oidc: 'x' }, cursor: { secretFile: 5 } }).map(
      error => error.split(':')[0]
    ),
    ['cursor.secretFile', 'dashboard.oidc']
  )
})

function getConfigErrors (environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment)
    return []
  } catch (error) {
    return (error as ConfigError).errors
  }
}

// Node ignores text that is no certificate: the gateway started, and rejected every response of the datastore.
t.test('a file of authorities without a certificate is a mistake, for a datastore and its token server', async t => {
  const directory = t.testdir({ 'ca.pem': 'a page that asks to sign in' })
  const caFile = join(directory, 'ca.pem')
  const getDatastoreErrors = (settings: object) => {
    const file = join(directory, 'config.json')
    writeFileSync(file, JSON.stringify({ datastores: { a: { url: 'https://h', ...settings } } }))
    return getConfigErrors({ CLINIGATE_CONFIG: file, S: 's3cret' })
  }
  t.strictSame(getDatastoreErrors({ caFile }), ['datastores.a.caFile: the file must hold certificates in PEM'])
  const auth = { type: 'oauth2', tokenUrl: 'https://t/token', clientId: 'c', clientSecretEnv: 'S', caFile }
  t.strictSame(getDatastoreErrors({ auth }), ['datastores.a.auth: caFile: the file must hold certificates in PEM'])
  const validFile = join(import.meta.dirname, '../backends/self-signed.pem')
  t.strictSame(getDatastoreErrors({ caFile: validFile, auth: { ...auth, caFile: validFile } }), [])
})

// The certificates of PostgreSQL and Redis were not verified either.
t.test('NODE_TLS_REJECT_UNAUTHORIZED=0 is a mistake', async t => {
  t.match(getConfigErrors({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }), [
    /^NODE_TLS_REJECT_UNAUTHORIZED: .*always verified.*NODE_EXTRA_CA_CERTS/
  ])
  t.strictSame(getConfigErrors({ NODE_TLS_REJECT_UNAUTHORIZED: '1' }), [])
})

// The message made operators delete a valid secret because of the permissions of its file.
t.test("a start that can't read the cursor secret reports that, and not that the secret is wrong", async t => {
  const directory = t.testdir()
  const file = join(directory, 'cursor.secret')
  // A file that no user can read, not even root.
  symlinkSync(file, file)
  t.throws(() => ensureCursorSecret(loadConfig({ CLINIGATE_DATA: directory })), { code: 'ELOOP' })
})

const backends = join(import.meta.dirname, '../backends')
const cert = join(backends, 'expired.pem')

t.test(
  'an expired certificate of PostgreSQL is reported as expired, and not as of an unknown authority',
  async t => {
    const secureContext = createSecureContext({
      key: readFileSync(join(backends, 'self-signed-key.pem')),
      cert: readFileSync(cert)
    })
    // PostgreSQL up to the point where TLS begins: it accepts the request for TLS.
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
