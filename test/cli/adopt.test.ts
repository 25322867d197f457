import t, { type Test } from 'tap'
import Database from 'better-sqlite3'
import { setTimeout as pause } from 'node:timers/promises'
import { join } from 'node:path'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { readCriteria } from '../../src/operator/ownership-scan/adopt-criteria.js'
import { openExistingServer, listTags, tenantSystem, type Existing } from '../tenant-guard/operator.js'
import { runCommand, start } from './command.js'

async function startClinic (
  t: Test
): Promise<{ server: Existing; environment: Record<string, string>; tenantId: string; file: string }> {
  const directory = t.testdir()
  const file = join(directory, 'existing.db')
  const sandbox = await startSandbox({ file, now: () => new Date() })
  t.teardown(() => sandbox.close())
  const environment = { CLINIGATE_DATA: join(directory, 'data'), FHIR_LIVE_URL: sandbox.url }
  const { out } = await runCommand(environment, 'orgs', 'create', '--name', 'Clinic', '--plan', 'pro')
  return { server: openExistingServer(sandbox.url), environment, tenantId: JSON.parse(out).tenantId, file }
}

const patient = { resourceType: 'Patient' }

t.test('records are adopted by type, by search and all, and the summary reports the counts', async t => {
  const { server, environment, tenantId } = await startClinic(t)
  const foreign = await server.plant(patient, [tenantSystem, 'b'])
  const untagged = await server.plant({ ...patient, gender: 'male' })
  const crossing = await server.plant({ resourceType: 'Observation', subject: { reference: `Patient/${foreign.id}` } })
  const adopt = (...args: string[]) => runCommand(environment, 'adopt', 'live', '--tenant', tenantId, ...args)

  t.same(await adopt('--type', 'Patient,Observation', '--dry-run'), {
    code: 0,
    err: '',
    out: `2 records would be adopted for ${tenantId}.

type         adopted  other tenants'
Observation        1               0
Patient            1               1

1 of their references point outside this tenant, so updates of these records are refused. clinigate audit live lists them after the adoption.
`
  })
  t.match(await adopt('--search', 'Patient?gender=female', '--json'), { code: 0, out: /"types":\{\}/ })
  t.same(JSON.parse((await adopt('--search', 'Patient?gender=male', '--json')).out), {
    tenantId,
    datastore: 'live',
    isDryRun: false,
    isComplete: true,
    types: { Patient: { adopted: 1 } },
    failures: {},
    references: {}
  })
  t.same(JSON.parse((await adopt('--all-types', '--json')).out), {
    tenantId,
    datastore: 'live',
    isDryRun: false,
    isComplete: true,
    types: { Observation: { adopted: 1 }, Patient: { own: 1, foreign: 1 } },
    failures: {},
    references: { 'foreign-reference': 1 }
  })
  for (const { resourceType, id } of [untagged, crossing]) {
    t.ok(listTags(await server.read(resourceType, id)).includes(`${tenantSystem}|${tenantId}`))
  }
  t.same(await server.read('Patient', foreign.id), foreign)
})

t.test('a record that could not be adopted ends with 1 and the reason', async t => {
  const { server, environment, tenantId, file } = await startClinic(t)
  const subject = await server.plant(patient)
  const [broken] = [
    await server.plant({ resourceType: 'Observation', subject: { reference: `Patient/${subject.id}` } }),
    await server.plant({ resourceType: 'Observation' })
  ]
  // As in a server that was filled while it checked no references: it would reject the record now.
  const database = new Database(file)
  database.prepare('UPDATE resource SET deleted = 1 WHERE id = ?').run(subject.id)
  database.close()
  const { code, out, err } = await runCommand(environment, 'adopt', 'live', '--tenant', tenantId, '--type', 'Observation')
  t.same([code, err], [1, ''])
  t.same(await server.read('Observation', broken!.id), broken)
  t.match(out, /^1 records were adopted/)
  t.match(out, /Not adopted:\n {2}1 {2}the datastore refused it \(400\)\n/)
})

t.test(
  'invalid arguments, an unknown tenant or a datastore that fails end with 2 and write nothing',
  async t => {
    const { server, environment, tenantId } = await startClinic(t)
    const record = await server.plant(patient)
    const live = ['adopt', 'live', '--tenant', tenantId]
    const cases: Array<[RegExp, ...string[]]> = [
      [
        /no organization with this tenant id.*CLINIGATE_DATA/,
        'adopt',
        'live',
        '--tenant',
        'org-x',
        '--type',
        'Patient'
      ],
      [/--tenant/, 'adopt', 'live', '--type', 'Patient'],
      [/select records/, ...live],
      [/select records/, ...live, '--type', 'Patient', '--all-types'],
      [/did you mean Patient/, ...live, '--type', 'Patient,Pateint'],
      [/Type\?name=value/, ...live, '--search', 'name=x'],
      [/rejected this search. \(status 400\)/, ...live, '--search', 'Patient?nmae=x'],
      [/from 1 to 64/, ...live, '--type', 'Patient', '--parallel', '0'],
      [/no datastore has this name/, 'adopt', 'liv', '--tenant', tenantId, '--type', 'Patient']
    ]
    for (const [line, ...args] of cases) {
      const { code, out, err } = await runCommand(environment, ...args)
      t.same([code, out], [2, ''], args.join(' '))
      t.match(err, line)
    }
    const down = { ...environment, FHIR_LIVE_URL: 'http://127.0.0.1:1/fhir' }
    t.match(await runCommand(down, ...live, '--type', 'Patient'), { code: 2, err: /does not answer/ })
    t.same(await server.read('Patient', record.id), record)
  }
)

t.test(
  'a run that is killed leaves complete records, and the next one writes only the remaining ones',
  { timeout: 240_000 },
  async t => {
    const { server, environment, tenantId } = await startClinic(t)
    await server.plantAll(Array.from({ length: 2_000 }, (_, at) => ({ ...patient, name: [{ family: `F${at}` }] })))
    const args = ['adopt', 'live', '--tenant', tenantId, '--type', 'Patient']
    const isOwn = (record: Parameters<typeof listTags>[0]): boolean =>
      listTags(record).includes(`${tenantSystem}|${tenantId}`)
    const { child, ended } = start(environment, ...args)
    while ((await server.fetchTagged(tenantId, 'Patient')).length < 200) await pause(20)
    child.kill('SIGKILL')
    t.equal((await ended).code, null)

    const between = await server.listAll('Patient')
    const done = between.filter(isOwn).length
    t.ok(done >= 200 && done < 2_000, `${done} were adopted before the kill`)
    t.same(
      between.filter(record => record.meta.versionId !== (isOwn(record) ? '2' : '1')),
      [],
      'each is either done or as it was'
    )

    const again = JSON.parse((await runCommand(environment, ...args, '--json')).out)
    t.same(again.types, { Patient: { adopted: 2_000 - done, own: done } })
    const after = await server.listAll('Patient')
    t.equal(after.length, 2_000)
    t.same(
      after.filter(record => !isOwn(record) || record.meta.versionId !== '2'),
      [],
      'none was written twice'
    )
  }
)

// HAPI ignores a modifier that a parameter does not have: `birthdate:not=1970-01-01` adopted the one patient born on
// that day.
t.test('records are adopted by no modifier that their search parameter does not have', async t => {
  for (const search of [
    'Patient?birthdate:not=1970-01-01',
    'Patient?family:not=x',
    'Patient?gender:exact=male',
    'Patient?name:sounds=x',
    'Patient?family:missing=1',
    'Patient?active:missing:not=true',
    'Observation?subject:Patient.name:not=x',
    'Patient?_has:Observation:subject:code:not=x',
    'Patient?_tag:not=x'
  ]) {
    t.throws(() => readCriteria(search), { message: /modifier/ }, search)
  }
  for (const search of [
    'Patient?gender:not=male',
    'Patient?family:exact=x',
    'Patient?family:missing=true',
    'Observation?subject:Patient=1',
    'Observation?subject:Patient.name=x',
    'Observation?code:text=x',
    'Patient?_has:Observation:subject:code=x'
  ]) {
    t.doesNotThrow(() => readCriteria(search), search)
  }
})
