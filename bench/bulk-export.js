// How fast the gateway exports records from HAPI, compared with HAPI's native export of the same records fetched
// directly.
// A HAPI of its own, on PostgreSQL, is started unless one is named. A hundred thousand records: --records 100000
// --rounds 1
// Usage: npm run build && node bench/bulk-export.js [--records 10000] [--rounds 3] [--fhir <base URL> --fhir-pid <pid>]
import { parseArgs } from 'node:util'
import { compare, show } from './compare.js'
import { describeMachine } from './figures.js'
import { generateRecords } from './bulk-records.js'
import { exportDirectly, exportThrough, hapiOptions, loadByTransactions, openHapi } from './bulk-methods.js'
import { createKey, createEnvironment, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: { records: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '3' }, ...hapiOptions }
})
const rounds = Number(values.rounds)
const records = Number(values.records)
const types = ['Patient', 'Observation']

const hapi = await openHapi(values)
try {
  const environment = await createEnvironment(hapi.url)
  const { tenantId, secret } = createKey(environment)
  const gateway = { secret, ...await startOn(environment, 'dist/main.js') }
  await loadByTransactions(hapi.url, generateRecords(Date.now().toString(36), records, tenantId), { atOnce: 2 })
  const peer = 'HAPI\'s native export'
  const methods = {
    [peer]: async () => requireAll(await exportDirectly(hapi.url, tenantId, types)),
    gateway: async () => requireAll(await exportThrough(gateway, types))
  }
  const processes = { gateway: gateway.pid, ...hapi.pid !== undefined && { HAPI: hapi.pid } }
  const measured = await compare(methods, { rounds, processes })
  console.log(
    `${describeMachine()}; ${rounds} rounds of ${records} records each way, to the last byte of the last file\n`
  )
  show(measured, { records, peers: [peer], processes })
} finally {
  stopAll()
  await hapi.stop()
}

function requireAll (lines) {
  if (lines !== records) throw new Error(`${lines} of ${records} records were exported`)
}
