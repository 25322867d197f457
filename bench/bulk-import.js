// How fast the gateway imports records into HAPI, compared with the ways to load the same records without it. The
// gateway loads into an organization without records, a new one each round, and into one that has records already. A
// HAPI of its own, on PostgreSQL, is started unless one is named; --separate leaves half of the processors to it and
// the others to the gateway, or to the program that loads without one, as on separate machines. A hundred thousand
// records each way: --records 100000 --rounds 1
// Usage: npm run build && node bench/bulk-import.js [--records 8000] [--rounds 4] [--ways 'gateway,gateway
// again,1,2,$import'] [--separate] [--fhir <base URL> --fhir-pid <pid>]
import { parseArgs } from 'node:util'
import { compare, show } from './compare.js'
import { describeMachine } from './figures.js'
import { generateRecords } from './bulk-records.js'
import { hapiOptions, importThrough, loadByNativeImport, loadByTransactions, openHapi } from './bulk-methods.js'
import { moveTo, createKey, createEnvironment, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '8000' },
    rounds: { type: 'string', default: '4' },
    ways: { type: 'string', default: 'gateway,gateway again,1,2,$import' },
    separate: { type: 'boolean', default: false },
    ...hapiOptions
  }
})
const rounds = Number(values.rounds)
const records = Math.floor(Number(values.records) / rounds)

/**
 * The round before the first, which is not measured: until HAPI's code is compiled, each record costs it twice as much.
 */
const warming = rounds

if (values.separate && values.fhir !== undefined) throw new Error('--separate is for a HAPI that is started here')
if (values.separate) moveTo(0)
const hapi = await openHapi(values)
try {
  if (values.separate) moveTo(1)
  const environment = await createEnvironment(hapi.url)
  const [laden, ...empty] = Array.from({ length: rounds + 2 }, () => createKey(environment).secret)
  const gateway = await startOn(environment, 'dist/main.js')
  const series = Date.now().toString(36)
  const createRecords = (name, round, tenantId) => generateRecords(`${series}-${name}-${round}`, records, tenantId)
  const loadDirectly = (name, load) => round => load(createRecords(name, round, `direct-${name}`))
  const loadThroughGateway = (name, secretOf) => round =>
    importThrough({ ...gateway, secret: secretOf(round) }, createRecords(name, round))
  const possible = {
    gateway: loadThroughGateway('new', round => empty[round]),
    'gateway again': loadThroughGateway('again', () => laden),
    $import: loadDirectly('native', all => loadByNativeImport(hapi.url, all)),
    ...Object.fromEntries(
      [1, 2, 4, 8].map(atOnce => [atOnce, loadDirectly(atOnce, all => loadByTransactions(hapi.url, all, { atOnce }))])
    )
  }
  const toLabel = name =>
    ({ gateway: 'gateway, empty organization', 'gateway again': 'gateway, organization with records' })[name] ??
    (/^\d/.test(name) ? `transactions, ${name} at a time` : name)
  const methods = Object.fromEntries(values.ways.split(',').map(name => [toLabel(name), possible[name]]))
  for (const method of Object.values(methods)) await method(warming)
  const processes = { gateway: gateway.pid, ...hapi.pid !== undefined && { HAPI: hapi.pid } }
  const measured = await compare(methods, { rounds, processes })
  const placement = values.separate ? ', HAPI on processors of its own' : ''
  const what = 'patients with nine observations each, in transactions of 200'
  console.log(`${describeMachine()}; ${rounds} rounds of ${records} records each way, ${what}${placement}\n`)
  show(measured, { records, peers: Object.keys(methods).filter(name => !name.startsWith('gateway')), processes })
} finally {
  stopAll()
  await hapi.stop()
}
