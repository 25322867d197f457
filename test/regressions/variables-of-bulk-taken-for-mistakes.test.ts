import t from 'tap'
import { loadConfig } from '../../src/config/load.js'

// Whoever exported what `clinigate bulk` reads, as its how-to says, could use no other command in that shell.
t.test('the variables of clinigate bulk keep nothing else from starting', async t => {
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
