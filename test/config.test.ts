import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DatastoreConfig } from '../src/config/schema.js'
import { readCredentials } from '../src/config/credentials.js'
import { readControlDatabaseUrl, ensureCursorSecret, readText } from '../src/config/secrets.js'
import {
  buildDefaultFile,
  buildEditorSchema,
  formatEnvironmentExample,
  formatErrorTable,
  buildReferencePages,
  withTables
} from '../src/config/documentation.js'
import { formatPolicyTable } from '../src/tenant-guard/policy.js'
import { ConfigError, loadConfig } from '../src/config/load.js'
import { warnAboutConfig } from '../src/bootstrap/warnings.js'

const resolveFromRoot = (path: string) => new URL(`../${path}`, import.meta.url).pathname

function createDirectory (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'clinigate-config-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

function writeConfig (t: Test, content: unknown): string {
  const path = join(createDirectory(t), 'config.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function getConfigErrors (environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
}

t.test('without file and variables the shipped defaults and plans apply', async t => {
  const config = loadConfig({})
  t.match(config, {
    host: '127.0.0.1',
    port: 8080,
    dataDirectory: './data',
    tenantSystem: 'urn:clinigate:tenant',
    limits: { bodyBytes: 1048576 }
  })
  t.same(config.plans, {
    sandbox: { requestsPerMinute: 100, requestsPerMonth: 1000, overage: false },
    starter: { requestsPerMinute: 200, requestsPerMonth: 60000, overage: true },
    pro: { requestsPerMinute: 1000, requestsPerMonth: 600000, overage: true },
    team: { requestsPerMinute: 5000, requestsPerMonth: 3000000, overage: true },
    enterprise: { requestsPerMinute: 10000, requestsPerMonth: null, overage: true }
  })
  t.same(loadConfig({ CLINIGATE_CONFIG: resolveFromRoot('config/default.json') }), {
    ...config,
    $schema: './clinigate.schema.json'
  })
})

t.test(
  'a process in the role gateway needs the URL of the control plane, and no other one does',
  async t => {
    const gateway = {
      CLINIGATE_ROLE: 'gateway',
      CONTROL_URL: 'https://control.example.org',
      CLINIGATE_GATEWAY_TOKEN: 'x'
    }
    t.match(loadConfig(gateway), { role: 'gateway', control: { url: 'https://control.example.org' } })
    t.match(getConfigErrors({ CLINIGATE_ROLE: 'gateway' }), [
      /^control.url .*is required/,
      /^control.gatewayTokenFile .*is required/
    ])
    t.match(getConfigErrors({ ...gateway, CLINIGATE_ROLE: 'control' }), [/^control.url .*only the roles gateway and worker/])
    t.match(getConfigErrors({ ...gateway, CONTROL_DATABASE_URL: 'postgres://user:pass@db/control' }), [
      /no control plane database/
    ])
    t.match(loadConfig({ ...gateway, CLINIGATE_ROLE: 'worker' }), { role: 'worker' })
    t.match(getConfigErrors({ CLINIGATE_ROLE: 'worker', CLINIGATE_CONFIG: writeConfig(t, { bulk: { maxConcurrentJobs: 0 } }) }), [
      /^control.url .*is required for the role worker/,
      /^control.gatewayTokenFile .*is required/,
      /^bulk.maxConcurrentJobs: with 0 the role worker would do nothing/
    ])
  }
)

t.test('several processes are rejected where only one can run', async t => {
  const servers = { FHIR_TEST_URL: 'https://test.example.org/fhir', FHIR_LIVE_URL: 'https://live.example.org/fhir' }
  const two = { CLINIGATE_PROCESSES: '2', ...servers }
  t.match(loadConfig(two), { processes: 2 })
  t.match(getConfigErrors({ CLINIGATE_PROCESSES: '2' }), [/^processes .*sandbox serves one process/])
  t.match(getConfigErrors({ ...two, CLINIGATE_ROLE: 'control' }), [/^processes .*the role control has one process/])
  t.match(
    getConfigErrors({ ...two, CLINIGATE_CONFIG: writeConfig(t, { bulk: { importUrl: 'http://gateway.internal:8080' } }) }),
    [/^processes .*bulk.importUrl must reach one process/]
  )
  t.match(getConfigErrors({ ...two, CLINIGATE_PROCESSES: '0' }), [/^CLINIGATE_PROCESSES: /])
})

t.test('the database URL comes from its variable or its file, and is not in the loaded configuration', async t => {
  const databaseUrlFile = writeConfig(t, 'postgres://user:of-the-file@db/control\n')
  const CLINIGATE_CONFIG = writeConfig(t, { control: { databaseUrlFile } })
  const config = loadConfig({ CLINIGATE_CONFIG })
  t.equal(readControlDatabaseUrl(config, {}), 'postgres://user:of-the-file@db/control')
  t.equal(readControlDatabaseUrl(config, { CONTROL_DATABASE_URL: 'postgres://other' }), 'postgres://other')
  t.notMatch(JSON.stringify(config), /of-the-file/)
  t.match(getConfigErrors({ CONTROL_DATABASE_URL: 'mysql://of-the-variable' }), [/^control.databaseUrlFile .*postgres:/])
  t.notMatch(getConfigErrors({ CONTROL_DATABASE_URL: 'mysql://of-the-variable' }).join(), /of-the-variable/)
})

t.test('at least one way to sign in is required', async t => {
  t.match(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, { dashboard: { localAccounts: false } }) }), [
    /^dashboard.localAccounts/
  ])
  const oidc = { issuer: 'https://login.example.org', clientId: 'clinigate' }
  t.match(
    loadConfig({ CLINIGATE_CONFIG: writeConfig(t, { dashboard: { localAccounts: false, oidc } }) }).dashboard.oidc,
    {
      roleClaim: 'role',
      roles: { admin: 'admin' }
    }
  )
})

t.test('a variable overrides the file, and an empty one counts as absent', async t => {
  const CLINIGATE_CONFIG = writeConfig(t, { port: 1111, host: '0.0.0.0' })
  t.match(loadConfig({ CLINIGATE_CONFIG, PORT: '2222', HOST: '' }), { port: 2222, host: '0.0.0.0' })
})

t.test('every variable of the contract sets its own setting', async t => {
  const plans = writeConfig(t, { mine: { requestsPerMinute: 3, requestsPerMonth: null, overage: false } })
  const config = loadConfig({
    CLINIGATE_DATA: '/d',
    HOST: '::1',
    PORT: '0',
    PUBLIC_URL: 'https://api.example.org',
    LOG_LEVEL: 'warn',
    TENANT_SYSTEM: 'urn:x',
    CLINIGATE_PLANS: plans,
    FHIR_TEST_URL: 'http://test.example.org/fhir',
    FHIR_LIVE_URL: 'https://live.example.org/fhir/'
  })
  t.match(config, {
    dataDirectory: '/d',
    host: '::1',
    port: 0,
    publicUrl: 'https://api.example.org',
    logLevel: 'warn',
    tenantSystem: 'urn:x',
    plans: { mine: { requestsPerMinute: 3, requestsPerMonth: null, overage: false } },
    datastores: {
      test: { url: 'http://test.example.org/fhir', auth: { type: 'none' }, connections: 64 },
      live: { url: 'https://live.example.org/fhir/' }
    }
  })
})

t.test('the URL variables change the datastore of the routing, and preserve its other settings', async t => {
  const CLINIGATE_CONFIG = writeConfig(t, {
    datastores: { shared: { url: 'http://old', connections: 7 } },
    routing: { test: 'shared' }
  })
  const { datastores } = loadConfig({ CLINIGATE_CONFIG, FHIR_TEST_URL: 'http://new' })
  t.match(datastores, { shared: { url: 'http://new', connections: 7 } })
  t.strictSame(Object.keys(datastores), ['shared'])
})

t.test('the configuration cannot be changed once it is loaded', async t => {
  const config = loadConfig({ FHIR_TEST_URL: 'http://x' })
  t.throws(() => { (config as { port: number }).port = 1 }, TypeError)
  t.throws(() => { (config.datastores.test as { url: string }).url = '' }, TypeError)
  t.throws(() => { (config.plans.pro as { overage: boolean }).overage = false }, TypeError)
})

t.test('all mistakes are reported at once, each with its setting and never with its value', async t => {
  const CLINIGATE_CONFIG = writeConfig(t, {
    prot: 1,
    host: '',
    datastores: { a: { url: 'ftp://s3cret', headersTimoutMs: 3, auth: { type: 'basic' } }, b: {} },
    limits: { bodyBytes: 'many' },
    keys: { maxStalenessMinutes: 0 }
  })
  const errors = getConfigErrors({
    CLINIGATE_CONFIG,
    PORT: '80 80',
    LOG_LEVEL: 's3cret',
    TENANT_SYSTEM: 'a|b',
    CLINIGATE_PLAN: 'x',
    CLINIGATE_PLANS: '/nowhere'
  })
  t.strictSame([...errors].sort(), [
    'CLINIGATE_PLAN: no such variable; did you mean CLINIGATE_PLANS?',
    'LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent',
    'PORT: must be integer',
    'TENANT_SYSTEM: must not contain spaces or any of | , $ \\',
    'datastores.a.headersTimoutMs: no such setting; did you mean datastores.a.headersTimeoutMs?',
    'datastores.a.url: must be an http or https URL without user, query or fragment',
    'datastores.b.url: is missing',
    'host: must not be empty',
    'keys.maxStalenessMinutes: must be > 0',
    'limits.bodyBytes: must be integer',
    'plansFile: the file cannot be read: it does not exist',
    'prot: no such setting; did you mean port?'
  ])
  t.notMatch(errors.join(), 's3cret')
})

t.test('a setting by its former name is refused with the name that it has now', async t => {
  const former = { bulk: { jobsAtOnce: 2 }, auditLog: { namesShown: true }, datastores: { a: { url: 'http://fhir.example.org', import: 'own' } } }
  t.strictSame([...getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, former) })].sort(), [
    'auditLog.namesShown: is called auditLog.logsSearchResultIds now',
    'bulk.jobsAtOnce: is called bulk.maxConcurrentJobs now',
    'datastores.a.import: must be one of transactions, native'
  ])
})

t.test('a setting that is in the file twice is a mistake, since one of them would have no effect', async t => {
  const twice = '{ "port": 1,\n  "limits": { "bodyBytes": 2048 },\n  "keys": { "port": 3 },\n  "limits": {} }'
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, twice) }), [
    'CLINIGATE_CONFIG: limits is there twice, again in line 4, column 3'
  ])
})

t.test('a base URL holds no user, password, query or fragment', async t => {
  for (const url of ['http://u:p@h', 'http://u@h', 'http://h?x=1', 'http://h#f', 'h:80', '/fhir', 'http://']) {
    t.strictSame(
      getConfigErrors({ FHIR_LIVE_URL: url }),
      ['FHIR_LIVE_URL: must be an http or https URL without user, query or fragment'],
      url
    )
  }
})

t.test('a route to a datastore that does not exist is a mistake, for a dedicated one too', async t => {
  const CLINIGATE_CONFIG = writeConfig(t, {
    datastores: { hospital: { url: 'http://h' } },
    routing: { live: 'shared', dedicated: { t1: 'hopsital', t2: 'hospital' } }
  })
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG }), [
    'routing.dedicated.t1: names no entry in datastores; did you mean hospital?',
    'routing.live: names no entry in datastores'
  ])
})

t.test('AuditEvents need the audit log', async t => {
  t.match(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, { auditLog: { auditEvents: true } }) }), [
    /^auditLog.auditEvents: .*auditLog.file/
  ])
  t.match(
    loadConfig({ CLINIGATE_CONFIG: writeConfig(t, { auditLog: { auditEvents: true } }), AUDIT_LOG_FILE: '/l' }).auditLog,
    { auditEvents: true, file: '/l' }
  )
})

t.test('a file that is missing, not JSON or no object is a mistake, not an empty configuration', async t => {
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: '/nowhere' }), ['CLINIGATE_CONFIG: the file cannot be read: it does not exist'])
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: createDirectory(t) }), ['CLINIGATE_CONFIG: the file cannot be read: it is a directory'])
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, '{\n  "port": 80,\n}') }), [
    'CLINIGATE_CONFIG: the file is not JSON, which has no comments and no comma after the last item: see line 3, column 1'
  ])
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, '[]') }), [
    'CLINIGATE_CONFIG: the file must contain one JSON object'
  ])
  t.strictSame(
    getConfigErrors({ CLINIGATE_PLANS: writeConfig(t, { pro: { requestsPerMinute: 0, requestsPerMonth: null } }) }),
    ['plans: pro.overage: is missing', 'plans: pro.requestsPerMinute: must be >= 1']
  )
})

// The message was that the file is not JSON in line 1, column 1, where editors show nothing wrong.
t.test('a configuration that begins with a byte order mark is read', async t => {
  t.equal(loadConfig({ CLINIGATE_CONFIG: writeConfig(t, '\uFEFF{ "port": 81 }') }).port, 81)
})

t.test('secrets are read from the configured places, and a missing one stops the start', async t => {
  const tokenFile = join(createDirectory(t), 'token')
  writeFileSync(tokenFile, 'abc\n')
  const read = (auth: object, environment = {}) =>
    readCredentials({ url: 'http://h', auth: auth as DatastoreConfig['auth'] }, environment)
  t.same(read({ type: 'bearer', tokenFile }), { kind: 'bearer', token: { text: 'abc', file: tokenFile } })
  t.same(read({ type: 'basic', username: 'u', passwordEnv: 'P' }, { P: 'p w' }), {
    kind: 'basic',
    user: 'u',
    password: { text: 'p w' }
  })
  t.same(read({ type: 'none' }), { kind: 'none' })
  const getAuthError = (auth: object, environment = {}) =>
    getConfigErrors({
      ...environment,
      CLINIGATE_CONFIG: writeConfig(t, { datastores: { a: { url: 'http://h', auth } } })
    })[0]?.replace('datastores.a.auth: ', '')
  t.equal(getAuthError({ type: 'basic', passwordEnv: 'P' }), 'basic needs username')
  t.equal(getAuthError({ type: 'basic', username: 'a:b', passwordEnv: 'P' }), 'username must not contain a colon')
  t.equal(getAuthError({ type: 'basic', username: 'a', tokenEnv: 'P' }), 'tokenEnv does not belong to the type basic')
  t.equal(getAuthError({ type: 'bearer', tokenEnv: 'P', tokenFile }), 'needs either tokenEnv or tokenFile')
  t.equal(getAuthError({ type: 'bearer', tokenEnv: 'P' }), 'tokenEnv names a variable that is not set')
  t.equal(getAuthError({ type: 'bearer', tokenFile: '/nowhere' }), 'tokenFile cannot be read: it does not exist')
  t.equal(
    getAuthError({ type: 'bearer', tokenEnv: 'P' }, { P: 'a\r\nx: y' }),
    'the token is empty or contains a character that is not valid in a header'
  )
})

t.test('the cursor secret is created once, and only its owner may read it', async t => {
  const dataDirectory = join(createDirectory(t), 'data')
  const config = loadConfig({ CLINIGATE_DATA: dataDirectory })
  const secret = ensureCursorSecret(config)
  t.equal(secret.length, 32)
  t.equal(statSync(join(dataDirectory, 'cursor.secret')).mode & 0o777, 0o600)
  t.same(ensureCursorSecret(config), secret)
  const configured = writeConfig(t, Buffer.alloc(32, 7).toString('base64'))
  t.same(
    ensureCursorSecret(loadConfig({ CLINIGATE_CONFIG: writeConfig(t, { cursor: { secretFile: configured } }) })),
    Buffer.alloc(32, 7)
  )
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, { cursor: { secretFile: writeConfig(t, 'short') } }) }), [
    'cursor.secretFile: the file must contain 32 bytes in base64, as openssl rand -base64 32 prints them'
  ])
  t.strictSame(getConfigErrors({ CLINIGATE_CONFIG: writeConfig(t, { cursor: { secretFile: '/nowhere' } }) }), [
    'cursor.secretFile: the file cannot be read: it does not exist'
  ])
  writeFileSync(join(dataDirectory, 'cursor.secret'), 'damaged')
  t.throws(() => ensureCursorSecret(config), /32 bytes/)
})

t.test('the files generated from the schema are up to date: npm run docs', async t => {
  const readShipped = (name: string) => readFileSync(resolveFromRoot(`config/${name}`), 'utf8')
  t.equal(readShipped('clinigate.schema.json'), JSON.stringify(buildEditorSchema(), null, 2) + '\n')
  t.equal(readShipped('default.json'), JSON.stringify(buildDefaultFile(), null, 2) + '\n')
  t.equal(readShipped('env.example'), formatEnvironmentExample())
  for (const [path, tables] of Object.entries(buildReferencePages())) {
    const page = readText(resolveFromRoot(path)) ?? ''
    t.equal(withTables(page, tables), page, path)
    t.ok(Object.values(tables).every(table => page.includes(table)), `${path} has its table`)
  }
  const isolation = readText(resolveFromRoot('docs/isolation.md')) ?? ''
  t.ok(isolation.includes(formatPolicyTable()), 'docs/isolation.md has the policy')
  t.equal(
    withTables('a<!-- errors:start -->old<!-- errors:end -->b', { errors: formatErrorTable() }),
    `a<!-- errors:start -->\n${formatErrorTable()}\n<!-- errors:end -->b`
  )
})

t.test(
  "a start warns of test keys on the server of live records, and of datastores that can't import by themselves, and names no address",
  async t => {
    const one = 'http://fhir.example.org/fhir'
    const listWarnings = (settings: object) => {
      const warnings: Array<Record<string, unknown>> = []
      warnAboutConfig(loadConfig({ CLINIGATE_CONFIG: writeConfig(t, settings) }), {
        warn: (fields: object, message: string) => {
          warnings.push({ ...fields, message })
        }
      })
      t.notMatch(JSON.stringify(warnings), 'example.org')
      return warnings
    }
    const buildSameServerWarning = (live: string[]) => [{ live, message: /its test keys can read and change its live records/ }]
    t.match(
      listWarnings({ datastores: { test: { url: one }, live: { url: 'http://FHIR.example.org:80/fhir/' } } }),
      buildSameServerWarning(['live'])
    )
    t.match(
      listWarnings({ datastores: { here: { url: one } }, routing: { test: 'here', live: 'here' } }),
      buildSameServerWarning(['here'])
    )
    t.match(
      listWarnings({
        datastores: { test: { url: one }, hospital: { url: one } },
        routing: { dedicated: { someone: 'hospital' } }
      }),
      buildSameServerWarning(['hospital'])
    )
    t.strictSame(listWarnings({ datastores: { test: { url: one }, live: { url: 'http://fhir.example.org/live' } } }), [])
    t.strictSame(listWarnings({}), [])
    const importing = { datastores: { live: { url: one, import: 'native' } } }
    t.match(listWarnings(importing), [{ datastores: ['live'], message: /bulk\.importUrl is not set/ }])
    const bulk = { importUrl: 'http://gateway-1.internal:8080' }
    t.strictSame(listWarnings({ ...importing, bulk }), [])
    t.match(listWarnings({ ...importing, bulk, events: { enabled: true } }), [{ message: /native import gives no events/ }])
  }
)
