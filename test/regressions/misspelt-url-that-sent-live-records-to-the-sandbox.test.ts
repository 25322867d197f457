import t from 'tap'
import { loadConfig } from '../../src/config/load.js'

// Only names beginning with CLINIGATE_ were checked, so FHIR_LIVE_ULR was passed over and live records went into the
// embedded sandbox.
t.test('a variable that almost spells one of ours is a mistake, whatever it begins with', async t => {
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

t.test('variables of other programs, and of secrets that the configuration names, are left alone', async t => {
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
