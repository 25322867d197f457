import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

interface Listed {
  readonly type: string
  readonly id: string
  readonly path: string
  readonly cycle?: true
}

/** The steps of docs/how-to/erase-a-patient.md, and the rules for the records that a rejected delete lists. */
export async function testErasure (t: Test, fhirUrl: string): Promise<void> {
  const gateway = await startGateway(t, { fhirUrl, plans: unlimitedPlans })
  const createClient = () => createGatewayClient(gateway)
  const others = await storePatient(await createClient())
  const createSender = async ({ tenantId }: Client, scopes?: readonly ('read' | 'write' | '*')[]) => {
    const { secret } = await gateway.createKey({ tenantId, ...(scopes && { scopes }) })
    return async (method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE', path: string, body?: object) => {
      const response = await gateway.inject({
        method,
        url: `/v1${path}`,
        headers: {
          'x-api-key': secret,
          ...(body && { 'content-type': method === 'PATCH' ? 'application/json-patch+json' : 'application/json' })
        },
        ...(body && { payload: JSON.stringify(body) })
      })
      return { status: response.statusCode, body: response.body === '' ? undefined : response.json() }
    }
  }

  await t.test('a patient whom many records name is erased: the 409 lists them in an order that works', async t => {
    const client = await createClient()
    const { patientId, records } = await storePatient(client)
    const refused = await client.send('DELETE', `patients/${patientId}`)
    t.equal(refused.status, 409)
    t.equal(refused.body.code, 'CONFLICT')
    const { referrers, hasMore } = refused.body.details as { referrers: Listed[]; hasMore: boolean }
    t.equal(hasMore, false)
    t.same(referrers.map(({ path }) => path).sort(), records.map(path => `/v1/${path}`).sort())
    t.same(Object.keys(referrers[0]!), ['type', 'id', 'path'])
    t.notOk(others.records.some(path => refused.text.includes(path)), 'none of another organization')
    for (const { path } of referrers) {
      t.match((await client.send('DELETE', path.slice('/v1/'.length))).status, path.includes('/fhir/') ? 204 : 200, path)
    }
    t.equal((await client.send('DELETE', `patients/${patientId}`)).status, 200)
    for (const path of [`patients/${patientId}`, ...records]) t.equal((await client.send('GET', path)).status, 404, path)
    for (const group of ['patients', 'observations', 'audit-events', 'labs', 'encounters']) {
      t.equal((await client.send('GET', group)).data.total, 0, group)
    }
  })

  await t.test('raw FHIR lists the same as issues, and none to a key that may not read', async t => {
    const client = await createClient()
    const { patientId, records } = await storePatient(client)
    const fhir = await createSender(client)
    const { status, body } = await fhir('DELETE', `/fhir/Patient/${patientId}`)
    t.equal(status, 409)
    t.equal(body.resourceType, 'OperationOutcome')
    t.same(body.issue.map(({ code }: { code: string }) => code), records.map(() => 'conflict'))
    for (const { diagnostics } of body.issue) t.match(diagnostics, /^[A-Z]\w+\/[\w.-]+: delete it first\.$/)
    const blind = await createSender(client, ['write'])
    for (const path of [`/fhir/Patient/${patientId}`, `/patients/${patientId}`]) {
      const { status, body } = await blind('DELETE', path)
      t.equal(status, 409)
      t.notOk(body.details)
      t.notMatch(JSON.stringify(body), /Observation/)
    }
    const [first] = records
    const batch = { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'DELETE', url: `Patient/${patientId}` } }] }
    t.notOk(JSON.stringify((await fhir('POST', '/fhir', batch)).body).includes(first!.split('/')[1]!), 'nor a batch')
  })

  await t.test('records that refer to each other are tagged, and deleted in one transaction', async t => {
    const client = await createClient()
    const fhir = await createSender(client)
    const buildPatient = (id?: string, other?: string) => ({
      resourceType: 'Patient',
      ...(id && { id }),
      ...(other && { link: [{ other: { reference: `Patient/${other}` }, type: 'seealso' }] })
    })
    const first = (await fhir('POST', '/fhir/Patient', buildPatient())).body.id
    const second = (await fhir('POST', '/fhir/Patient', buildPatient(undefined, first))).body.id
    t.equal((await fhir('PUT', `/fhir/Patient/${first}`, buildPatient(first, second))).status, 200)
    const refused = await fhir('DELETE', `/patients/${first}`)
    t.equal(refused.status, 409)
    t.same(refused.body.details, {
      referrers: [{ type: 'Patient', id: second, cycle: true, path: `/v1/patients/${second}` }],
      hasMore: false
    })
    const entry = [first, second].map(id => ({ request: { method: 'DELETE', url: `Patient/${id}` } }))
    t.equal((await fhir('POST', '/fhir', { resourceType: 'Bundle', type: 'transaction', entry })).status, 200)
    t.equal((await fhir('GET', `/patients/${first}`)).status, 404)
  })

  await t.test('a list is bounded, and each delete of its records leaves fewer', async t => {
    const client = await createClient()
    const fhir = await createSender(client)
    const { id } = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
    const entry = Array.from({ length: 130 }, (_, at) => ({
      fullUrl: `urn:uuid:00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
      request: { method: 'POST', url: 'Observation' },
      resource: {
        resourceType: 'Observation',
        status: 'final',
        code: { text: 'x' },
        subject: { reference: `Patient/${id}` }
      }
    }))
    t.equal((await fhir('POST', '/fhir', { resourceType: 'Bundle', type: 'transaction', entry })).status, 200)
    const first = await client.send('DELETE', `patients/${id}`)
    t.same([first.body.details.referrers.length, first.body.details.hasMore], [100, true])
    const removal = (first.body.details.referrers as Listed[]).map(({ type, id }) => ({
      request: { method: 'DELETE', url: `${type}/${id}` }
    }))
    t.equal((await fhir('POST', '/fhir', { resourceType: 'Bundle', type: 'transaction', entry: removal })).status, 200)
    const second = await client.send('DELETE', `patients/${id}`)
    t.same([second.body.details.referrers.length, second.body.details.hasMore], [30, false])
  })

  await t.test('a reference that no search parameter follows does not prevent the delete of a patient', async t => {
    const client = await createClient()
    const fhir = await createSender(client)
    const { id } = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
    const note = [{ text: 'said so', authorReference: { reference: `Patient/${id}` } }]
    const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, note }
    t.equal((await fhir('POST', '/fhir/Observation', observation)).status, 201)
    t.equal((await fhir('DELETE', `/patients/${id}`)).status, 200)
  })

  await t.test('an audit event is deleted by a key with the scope *, and never changed, by both APIs', async t => {
    const client = await createClient()
    const all = await createSender(client)
    const writing = await createSender(client, ['read', 'write'])
    for (const path of ['/audit-events', '/fhir/AuditEvent']) {
      const { id } = (await client.send('POST', 'audit-events', buildAuditEvent())).data
      const one = `${path}/${id}`
      const stored = (await all('GET', `/fhir/AuditEvent/${id}`)).body
      const refused = await writing('DELETE', one)
      t.equal(refused.status, 403, one)
      t.equal((await all('PATCH', one, [{ op: 'replace', path: '/outcome', value: '8' }])).status, 405)
      t.equal((await all('PUT', one, { ...stored, outcome: '8' })).status, 405)
      t.equal((await all('PUT', `${path}?_id=${id}`, { ...stored, outcome: '8' })).status, 405)
      t.equal((await all('GET', `/audit-events/${id}`)).body.data.outcome, '0')
      t.match((await all('DELETE', one)).status, path.includes('fhir') ? 204 : 200)
      t.equal((await all('GET', one)).status, 404)
    }
    const { id } = (await client.send('POST', 'audit-events', buildAuditEvent())).data
    const buildBundle = (type: string, method: string) => ({
      resourceType: 'Bundle',
      type,
      entry: [{ request: { method, url: `AuditEvent/${id}` } }]
    })
    t.equal((await writing('POST', '/fhir', buildBundle('transaction', 'DELETE'))).status, 403)
    t.match((await writing('POST', '/fhir', buildBundle('batch', 'DELETE'))).body.entry[0].response.status, /^403/)
    t.equal((await writing('DELETE', `/fhir/AuditEvent?_id=${id}`)).status, 403)
    t.equal((await all('GET', `/audit-events/${id}`)).status, 200)
  })
}

function buildAuditEvent (patientId?: string): object {
  return {
    type: 'rest',
    action: 'R',
    agent: [{ who: 'Dr. Ortiz', requestor: true }],
    ...(patientId && { entity: [{ what: `Patient/${patientId}` }] })
  }
}

/** A patient, and records that refer to the patient and to each other, by their paths. */
async function storePatient (client: Client): Promise<{ readonly patientId: string; readonly records: string[] }> {
  const records: string[] = []
  const store = async (path: string, body: object): Promise<string> => {
    const { status, text, body: { data = {}, id = data.id } = {} } = await client.send('POST', path, body)
    if (status !== 201) throw new Error(`${path}: ${text}`)
    records.push(`${path}/${id}`)
    return id
  }
  const patientId = await store('patients', { firstName: 'Ada', lastName: 'Byron' })
  records.pop()
  const encounterId = await store('encounters', { status: 'finished', class: 'AMB', patientId })
  const code = { system: 'http://loinc.org', code: '8867-4' }
  const observationId = await store('observations', { code, patientId, encounterId, valueQuantity: { value: 72 } })
  await store('labs', { code, patientId, encounterId, resultIds: [observationId] })
  await store('audit-events', buildAuditEvent(patientId))
  await store('fhir/RelatedPerson', { resourceType: 'RelatedPerson', patient: { reference: `Patient/${patientId}` } })
  return { patientId, records }
}
