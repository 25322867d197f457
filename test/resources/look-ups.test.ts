/**
 * The context of a request beyond its own text: the key that sent it, other names of fields, records named by id in
 * place of their URL.
 */
import t, { type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'

/** A client of one tenant of a new gateway, and a second client of another tenant. */
async function startClients (t: Test) {
  const { inject, createKey } = await startGateway(t)
  const createSender =
    ({ secret }: { secret: string }) =>
      async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
        const response = await inject({ method, url: `/v1/${url}`, headers: { 'x-api-key': secret }, payload })
        return { status: response.statusCode, ...response.json() }
      }
  return { send: createSender(await createKey()), sendAsOther: createSender(await createKey()) }
}

const report = { type: 'summary', period: { start: '2026-01-01', end: '2026-03-31' } }

t.test('a measure is named by its id, and a report of it shows and is found by either its URL or the id', async t => {
  const { send } = await startClients(t)
  const { data: measure } = await send('POST', 'measures', { title: 'Readmissions' })
  t.match(measure.url, /^http:\/\/.+\/canonical\/[0-9a-f-]{36}$/)
  const { data: made } = await send('POST', 'measure-reports', { ...report, measureId: measure.id })
  t.equal(made.measureId, measure.url)
  await send('POST', 'measure-reports', { ...report, measureId: 'http://example.org/other|2.0' })
  for (const named of [measure.id, `Measure/${measure.id}`, encodeURIComponent(measure.url), `nothing,${measure.id}`]) {
    const { data } = await send('GET', `measure-reports?measureId=${named}`)
    t.same(data?.data.map((found: { id: string }) => found.id), [made.id], named)
  }
  t.equal((await send('GET', 'measure-reports?measureId=http://example.org/other')).data.total, 1)
  t.equal((await send('GET', 'measure-reports?measureId=nothing')).data.total, 0)
  t.equal((await send('GET', 'measure-reports?measureId=not%20a%20URL')).code, 'BAD_REQUEST')
})

t.test('a measure without URL is referred to by its id', async t => {
  const { send } = await startClients(t)
  const { data: measure } = await send('POST', 'measures', {})
  await send('PATCH', `measures/${measure.id}`, { url: null })
  const { data: made } = await send('POST', 'measure-reports', { ...report, measureId: measure.id })
  t.equal(made.measureId, measure.id)
  t.equal((await send('GET', `measure-reports?measureId=${measure.id}`)).data.total, 1)
})

t.test('a measure that is unknown, deleted or another tenant’s is rejected alike', async t => {
  const { send, sendAsOther } = await startClients(t)
  const { data: foreign } = await sendAsOther('POST', 'measures', {})
  const { data: deleted } = await send('POST', 'measures', {})
  await send('DELETE', `measures/${deleted.id}`)
  const { data: made } = await send('POST', 'measure-reports', { ...report, measureId: 'http://example.org/m' })
  const refusals = await Promise.all(
    ['unknown', deleted.id, foreign.id].flatMap(measureId => [
      send('POST', 'measure-reports', { ...report, measureId }),
      send('PATCH', `measure-reports/${made.id}`, { measureId })
    ])
  )
  for (const { status, issues } of refusals) {
    t.equal(status, 422)
    t.match(issues, [{ code: 'not-found', expression: ['measureId'] }])
  }
})

t.test('a field may be sent under its other name, and is shown under its own', async t => {
  const { send } = await startClients(t)
  const { data: patient } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const { data: second } = await send('POST', 'patients', { firstName: 'Grace', lastName: 'Hopper' })
  const { data: made } = await send('POST', 'enrollment-requests', { patientId: patient.id })
  t.equal(made.candidateId, patient.id)
  t.notOk('patientId' in made)
  const changed = await send('PATCH', `enrollment-requests/${made.id}`, { patientId: second.id })
  t.equal(changed.data.candidateId, second.id)
  const both = await send('POST', 'enrollment-requests', { patientId: patient.id, candidateId: patient.id })
  t.match(both, { status: 422, issues: [{ expression: ['patientId'] }] })
  t.equal(
    (await send('PATCH', `enrollment-requests/${made.id}`, { patientId: null })).status,
    422,
    'it is required under either name'
  )
})

t.test(
  'an audit event is reported by the key that sent it, found by the texts that it was sent with, and never changed',
  async t => {
    const { send } = await startClients(t)
    const agent = [{ who: 'the night shift', requestor: true }]
    const { data: made } = await send('POST', 'audit-events', { type: 'login', subtype: ['login'], agent })
    t.same(made.source, { observer: 'a test key' })
    t.same(made.type, {
      system: 'http://dicom.nema.org/resources/ontology/DCM',
      code: '110114',
      display: 'User Authentication'
    })
    await send('POST', 'audit-events', { type: 'export', agent, source: { observer: 'EHR/prod', site: 'north' } })
    t.equal((await send('GET', 'audit-events?type=login')).data.total, 1)
    t.equal((await send('GET', 'audit-events?subtype=login,logout')).data.total, 1)
    t.equal((await send('GET', 'audit-events?site=north')).data.total, 1)
    t.equal((await send('PATCH', `audit-events/${made.id}`, { outcome: '8' })).status, 405)
    t.equal((await send('DELETE', `audit-events/${made.id}`)).status, 200, 'with a key that may do everything')
  }
)

t.test('a study is found by its UID alone, not by an identifier of another system', async t => {
  const { send } = await startClients(t)
  const { data: patient } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const { data: made } = await send('POST', 'imaging-studies', { patientId: patient.id, studyUid: '1.2.840.1' })
  await send('POST', 'imaging-studies', {
    patientId: patient.id,
    identifiers: [{ system: 'http://example.org/own', value: 'urn:oid:1.2.840.1' }]
  })
  const { data } = await send('GET', 'imaging-studies?studyUid=1.2.840.1,1.2.840.9')
  t.same(data.data.map((found: { id: string }) => found.id), [made.id])
})
