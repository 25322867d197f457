import t from 'tap'
import { decorateBackend } from '../../src/backends/decorate.js'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import { bundle, entry } from '../passthrough/fixture.js'
import { gatewayTo, newTenant, system } from '../tenant-guard/guarded.js'

const megabytes = 2 ** 20
const plain = {
  isLenient: false,
  showsWritten: true,
  fhirBase: 'http://gateway.test/v1/fhir',
  method: 'POST',
  path: [],
  query: []
}
const reads = (length: number) => Array.from({ length }, () => entry('GET', 'Patient/1'))

/** A datastore with one patient of 4 MiB, which says how often it was read. */
function large () {
  const tenantId = newTenant()
  const patient = {
    resourceType: 'Patient',
    id: '1',
    meta: { versionId: '1', lastUpdated: '2026-03-14T09:30:00Z', tag: [{ system, code: tenantId }] },
    name: [{ given: Array.from({ length: 4 }, () => 'x'.repeat(megabytes)) }]
  }
  const { backend: real, guard } = gatewayTo('http://datastore.test/fhir')
  let count = 0
  const send = async () => {
    count++
    return { status: 200, headers: {}, body: JSON.stringify(patient) }
  }
  return { count: () => count, patient, store: guard(tenantId, { backend: decorateBackend(real, { send }) }) }
}

// A thousand reads of a record of 16 MiB, in a Bundle of 100 KB, ended the process: all of them were held until the
// last came.
t.test(
  'the entries of a batch show together as much as one answer may have, and what finds no room is not read',
  async t => {
    const { count, store } = large()
    const { body = '' } = await store.perform(parseInteraction({ ...plain, body: bundle('batch', ...reads(100)) }))
    const answers = (JSON.parse(body) as { entry: Array<{ resource?: object; response: { status: string } }> }).entry
    t.ok(body.length < 65 * megabytes)
    t.ok(count() <= 16 + 8, `${count()} were read`)
    t.equal(answers.filter(({ resource }) => resource !== undefined).length, 15)
    t.match(
      answers.filter(({ resource }) => resource === undefined),
      Array.from({ length: 85 }, () => ({
        response: {
          status: '413 Payload Too Large',
          outcome: { issue: [{ code: 'too-long', diagnostics: /Send this entry in another Bundle/ }] }
        }
      }))
    )
  }
)

t.test('a write that finds no room is done, and answered without its record', async t => {
  const { store, patient } = large()
  const { meta: _, ...content } = patient
  const { body = '' } = await store.perform(
    parseInteraction({
      ...plain,
      body: bundle('batch', ...reads(40), entry('PUT', 'Patient/1', { ...content, name: [{ family: 'Byron' }] }))
    })
  )
  const last = (JSON.parse(body) as { entry: unknown[] }).entry.at(-1)
  t.match(last, { response: { status: '200 OK', etag: 'W/"1"' } })
  t.notOk(Object.hasOwn(last as object, 'resource'))
})
