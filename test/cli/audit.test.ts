import t from 'tap'
import { join } from 'node:path'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { openExistingServer, tenantSystem } from '../tenant-guard/operator.js'
import { runCommand, start } from './command.js'

const sandbox = await startTestSandbox(t)
const server = openExistingServer(sandbox.url)
const environment = { CLINIGATE_DATA: join(t.testdir(), 'data'), FHIR_LIVE_URL: sandbox.url }
const parseFindings = (out: string): any[] => out.trim().split('\n').map(line => JSON.parse(line))

t.test('a clean datastore ends with 0 and a message', async t => {
  const ended = await runCommand(environment, 'audit', 'live')
  t.same(ended, { code: 0, out: '0 records were read; no findings.\n', err: '' })
  await server.plant({ resourceType: 'Patient' }, [tenantSystem, 'a'])
  await server.send('PUT', 'ValueSet/v', { resourceType: 'ValueSet', id: 'v', status: 'draft' })
  const { code, out } = await runCommand(environment, 'audit', 'live')
  t.equal(code, 0)
  t.equal(
    out,
    '1 records were read; no findings.\n\ntype     records\nPatient        1\n\nNot checked, because these types cannot belong to one tenant: ValueSet 1.\n'
  )
})

t.test('findings end with 1, as a table and the first of them, or all as lines of JSON', async t => {
  const foreign = await server.plant({ resourceType: 'Patient' }, [tenantSystem, 'b'])
  const crossing = await server.plant(
    { resourceType: 'Observation', subject: { reference: `Patient/${foreign.id}` } },
    [tenantSystem, 'a']
  )
  const untagged = await server.plant({ resourceType: 'Patient' })
  const people = await start(environment, 'audit', 'live').ended
  t.equal(people.code, 1)
  t.equal(people.err, '')
  t.equal(people.out, `4 records were read; 2 findings.

type         records  no-tag  foreign-reference
Observation        1       0                  1
Patient            3       1                  0

Not checked, because these types cannot belong to one tenant: ValueSet 1.

Findings:
  no-tag              Patient/${untagged.id}
  foreign-reference   Observation/${crossing.id}  Observation.subject → Patient/${foreign.id}
`)
  const limited = await runCommand(environment, 'audit', 'live', '--limit', '1')
  t.match(limited.out, /the first 1;/)
  t.notMatch(limited.out, /Observation\.subject/)
  const json = await runCommand(environment, 'audit', 'live', '--json')
  t.equal(json.code, 1)
  t.same(parseFindings(json.out), [
    { finding: 'no-tag', type: 'Patient', id: untagged.id },
    {
      finding: 'foreign-reference',
      type: 'Observation',
      id: crossing.id,
      tenantId: 'a',
      path: 'Observation.subject',
      target: `Patient/${foreign.id}`,
      targetTenantId: 'b'
    },
    {
      summary: {
        datastore: 'live',
        records: 4,
        findings: { 'no-tag': 1, 'foreign-reference': 1 },
        types: { Observation: { owned: 1, 'foreign-reference': 1 }, Patient: { 'no-tag': 1, owned: 2 } },
        shared: { ValueSet: 1 }
      }
    }
  ])
})

t.test('a reader that closes the pipe ends the report without an error', async t => {
  await server.plantAll(Array.from({ length: 3_000 }, () => ({ resourceType: 'Basic', code: { text: 'x' } })))
  const { child, ended } = start(environment, 'audit', 'live', '--json', '--type', 'Basic')
  child.stdout!.once('data', () => child.stdout!.destroy())
  const { code, err } = await ended
  t.same([code, err], [1, ''])
})

t.test('some of the types can be audited, and a server that is not configured', async t => {
  t.match(await runCommand(environment, 'audit', 'live', '--type', 'Encounter,Group'), { code: 0, out: /^0 records/ })
  t.match(await runCommand({ CLINIGATE_DATA: environment.CLINIGATE_DATA }, 'audit', '--url', sandbox.url), {
    code: 1,
    out: /^3,004 records/
  })
})

t.test(
  'invalid arguments, or a datastore that fails, end with 2 and one line with what to do',
  async t => {
    const cases: Array<[RegExp, ...string[]]> = [
      [/name a datastore, or a server with --url/, 'audit'],
      [/name a datastore, or a server with --url/, 'audit', 'live', '--url', sandbox.url],
      [/no datastore has this name; did you mean live\? The configuration has: live, test/, 'audit', 'lvie'],
      [/its sandbox is empty; is CLINIGATE_DATA/, 'audit', 'test'],
      [/must use http or https/, 'audit', '--url', 'ftp://x.example'],
      [/does not answer\. Check its URL/, 'audit', '--url', 'http://127.0.0.1:1/fhir'],
      [
        /cannot use the datastore's response. \(status 404, the datastore shows no CapabilityStatement\)/,
        'audit',
        '--url',
        sandbox.url + '/x'
      ],
      [/no such resource type; did you mean Patient\?/, 'audit', 'live', '--type', 'Pateint'],
      [/ValueSet cannot belong to one tenant/, 'audit', 'live', '--type', 'ValueSet'],
      [/Use a whole number/, 'audit', 'live', '--limit', 'many'],
      [/unknown option/, 'audit', 'live', '--fix']
    ]
    for (const [line, ...args] of cases) {
      const { code, out, err } = await runCommand(environment, ...args)
      t.same([code, out], [2, ''], args.join(' '))
      t.match(err, line)
    }
    t.match(await runCommand({ ...environment, PORT: 'many' }, 'audit', 'live'), {
      code: 2,
      err: /PORT: must be integer/
    })
  }
)

t.test('a sandbox in the data directory can be audited, while a gateway has it open', async t => {
  const directory = t.testdir()
  const running = await startSandbox({ file: join(directory, 'sandbox-test.db'), now: () => new Date() })
  t.teardown(() => running.close())
  await openExistingServer(running.url).plant({ resourceType: 'Patient' })
  t.match(await runCommand({ CLINIGATE_DATA: directory }, 'audit', 'test'), { code: 1, out: /no-tag {14}Patient\// })
})
