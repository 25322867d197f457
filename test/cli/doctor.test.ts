import t from 'tap'
import { join } from 'node:path'
import { createFhirClient } from '../harness/fhir-server.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { runCommand, start } from './command.js'

const server = await startTestSandbox(t, unlikeHapi)
const environment = { CLINIGATE_DATA: join(t.testdir(), 'data'), FHIR_LIVE_URL: server.url }

t.test("the text output lists what works, what does not, the gateway's behaviour then and what to change", async t => {
  const { code, out, err } = await runCommand(environment, 'doctor', 'live')
  t.strictSame([code, err], [0, ''])
  t.match(out, /^Datastore live, clinigate sandbox, FHIR 4\.0\.1\n\nworks {5}The server answers/)
  t.match(
    out,
    /\ndegraded {2}A search says how many records match {2}\[totals\]\n {10}seen: {4}.+\n {10}gateway: .+\n {10}change: {2}.+\n/
  )
  t.match(
    out,
    /\nThe gateway can work with this server\. \d+ work, 7 degraded\.\nThe \d+ test records were deleted\.\n$/
  )
})

t.test('--json prints one line of JSON', async t => {
  const { code, out } = await runCommand(
    { CLINIGATE_DATA: environment.CLINIGATE_DATA },
    'doctor',
    '--url',
    server.url,
    '--json'
  )
  t.equal(code, 0)
  t.equal(out.trim().split('\n').length, 1)
  t.match(JSON.parse(out), {
    datastore: 'url',
    software: 'clinigate sandbox',
    fhirVersion: '4.0.1',
    blocks: false,
    counts: { blocks: 0, degraded: 7 },
    findings: [{ name: 'reachable', state: 'works' }],
    records: { left: [] }
  })
})

t.test('a blocking finding ends with 1, a command that was not understood with 2', async t => {
  const away = await runCommand(environment, 'doctor', '--url', 'http://127.0.0.1:1/fhir')
  t.match(away, {
    code: 1,
    out: /\nblocks {4}The server answers.+\n {10}seen: {4}it does not answer.*\n[\s\S]+\nThe gateway cannot work with this server\. 1 blocking\.\n$/
  })
  t.match(await runCommand(environment, 'doctor', '--url', `${server.url}/x`), {
    code: 1,
    out: /no CapabilityStatement|status 404/
  })
  t.match(await runCommand(environment, 'doctor'), { code: 2, err: /name a datastore, or a server with --url/ })
  t.match(await runCommand(environment, 'doctor', 'lvie'), { code: 2, err: /did you mean live\?/ })
})

t.test('a doctor that is interrupted leaves a clean server', async t => {
  const { send } = createFhirClient(server.url)
  const { child, ended } = start(environment, 'doctor', 'live')
  const countPatients = async (): Promise<number> => (await send('GET', 'Patient?_summary=count')).body.total
  while (await countPatients() === 0) await new Promise(resolve => setTimeout(resolve, 5))
  child.kill('SIGINT')
  t.equal((await ended).code, 130)
  t.equal(await countPatients(), 0)
})
