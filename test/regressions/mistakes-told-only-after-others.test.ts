import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError, loadConfig } from '../../src/config/load.js'

function mistakesIn (t: Test, settings: object, environment: Record<string, string> = {}): string[] {
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

// One letter too many in a number, and nothing was said of secrets, certificates and routes until the next start.
t.test('a mistake of one setting hides none of others', async t => {
  t.strictSame(
    mistakesIn(
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

t.test('a setting that has not its form is told of once, whatever reads it', async t => {
  t.strictSame(
    mistakesIn(t, { datastores: null, routing: { live: 'x' } }).map(error => error.split(':')[0]),
    ['datastores']
  )
  t.strictSame(
    mistakesIn(t, { datastores: { a: null }, routing: { live: 'a' } }).map(error => error.split(':')[0]),
    ['datastores.a']
  )
  for (const name of ['routing', 'control', 'cursor', 'limits', 'dashboard', 'auditLog', 'role']) {
    t.strictSame(mistakesIn(t, { [name]: 5 }).map(error => error.split(':')[0]), [name])
  }
  t.strictSame(
    mistakesIn(t, { dashboard: { localAccounts: false, oidc: 'x' }, cursor: { secretFile: 5 } }).map(
      error => error.split(':')[0]
    ),
    ['cursor.secretFile', 'dashboard.oidc']
  )
})
