import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startWatched } from '../harness/recording-backend.js'
import { createImporter } from '../jobs/importing.js'

/** Bare ids of every type that a reference may have, by single requests and by import. */
export async function testBareIds (t: Test, fhirUrl: string): Promise<void> {
  const watched = await startWatched(fhirUrl.replace(/\/$/, ''))
  t.after(() => watched.close())
  const gateway = await startGateway(t, { fhirUrl: watched.url, plans: unlimitedPlans })
  const client = await createGatewayClient(gateway)
  const ids = await createTargets(client)
  const { patientId } = ids

  await t.test('a bare id of another type than the usual one becomes a reference, and the filter finds it', async t => {
    for (const [path, body, field, expected] of buildCases(ids)) {
      const created = await client.send('POST', path, body)
      t.equal(created.status, 201, `${path}: ${created.text}`)
      const shown = field.split('.').reduce((value: any, name) => value?.[name], created.data)
      t.same(shown, expected, `${path}.${field}`)
    }
    for (const filter of [`goals?patientId=${patientId}`, `schedules?actorId=${ids.locationId}`,
      `notes?authorId=${ids.organizationId}`, `payment-notices?requestId=${ids.encounterId}`]) {
      const { data } = await client.send('GET', filter)
      t.equal(data?.data.length, 1, filter)
    }
  })

  await t.test('ten bare ids of several types cost one call more than ten of the first', async t => {
    const others = ['Location', 'Device', 'HealthcareService']
    const types = [...others, 'PractitionerRole', 'RelatedPerson', 'Patient', ...others]
    const countCallsWith = async (nameOf: (actor: string) => string): Promise<number> => {
      const stored = await createFhirClient(fhirUrl).storeAll(
        client.tenantId,
        types.map(resourceType => ({ resourceType }))
      )
      const actors = stored.map((id, at) => `${types[at]}/${id}`)
      watched.seen.length = 0
      const actorIds = [...actors.map(nameOf), ids.practitionerId]
      const { status, data } = await client.send('POST', 'schedules', { actorIds })
      t.equal(status, 201)
      t.same(data.actorIds, [...actors, ids.practitionerId])
      return watched.seen.length
    }
    const typed = await countCallsWith(actor => actor)
    const bare = await countCallsWith(actor => actor.split('/')[1]!)
    t.equal(bare, 3, 'the look-up of the first type, one among the others, and the create')
    t.ok(bare <= typed, `${typed} with types`)
    watched.seen.length = 0
    await client.send('POST', 'schedules', { actorIds: [ids.practitionerId] })
    t.equal(watched.seen.length, 1, 'a known one of the first type costs none')
  })

  await t.test('a bare id of several types is rejected with the types, of none with the field', async t => {
    const id = `both-${Date.now()}`
    for (const resourceType of ['Location', 'Device']) {
      const put = await client.send('PUT', `fhir/${resourceType}/${id}`, { resourceType, id })
      if (put.status >= 400) return t.comment('the datastore takes no ids of a client')
    }
    const several = await client.send('POST', 'schedules', { actorIds: [ids.practitionerId, id] })
    t.match(several.body, { status: 422, issues: [{ code: 'multiple-matches', expression: ['actorIds[1]'] }] })
    t.match(several.body.issues[0].diagnostics, /Device\/id or Location\/id|Location\/id or Device\/id/)
    t.notMatch(several.text, new RegExp(id))
    const none = await client.send('POST', 'schedules', { actorIds: [ids.practitionerId, 'no-such-record'] })
    t.match(none.body, { status: 422, issues: [{ code: 'not-found', expression: ['actorIds[1]'] }] })
  })

  await t.test('a change accepts bare ids like a create', async t => {
    const { data: made } = await client.send('POST', 'schedules', { actorIds: [ids.practitionerId] })
    const { status, data } = await client.send('PATCH', `schedules/${made.id}`, { actorIds: [ids.locationId] })
    t.equal(status, 200)
    t.same(data.actorIds, [`Location/${ids.locationId}`])
  })

  await t.test('another organization’s record is found by no bare id', async t => {
    const other = await createGatewayClient(gateway)
    const { status, body } = await other.send('POST', 'schedules', { actorIds: [ids.locationId] })
    t.equal(status, 422)
    t.match(body.issues, [{ code: 'not-found', expression: ['actorIds[0]'] }])
  })

  await t.test('lines of an import refer by bare ids to stored records, and to lines after them, of other types', async t => {
    const { secret } = await gateway.createKey({ tenantId: client.tenantId })
    const lines = createImporter(gateway, secret)
    const { results } = await lines.run([
      { resourceType: 'Schedule', updatedAt: '2026-01-01T00:00:00Z', id: 's1', actorIds: [ids.locationId] },
      { resourceType: 'Schedule', updatedAt: '2026-01-01T00:00:00Z', id: 's2', actorIds: ['l1'] },
      { resourceType: 'Schedule', updatedAt: '2026-01-01T00:00:00Z', id: 's3', actorIds: ['nothing'] },
      { resourceType: 'Location', id: 'l1' }
    ])
    t.same(results.map(({ status }) => status), ['created', 'created', 'failed', 'created'], JSON.stringify(results))
    const fetchActorIds = async (id: string) => (await client.send('GET', `schedules/${id}`)).data.actorIds
    t.same(await fetchActorIds(results[0]!.id!), [`Location/${ids.locationId}`])
    t.same(await fetchActorIds(results[1]!.id!), [`Location/${results[3]!.id}`])
    t.match(results[2], { field: 'actorIds[0]' })
    const dry = await lines.run(
      [{ resourceType: 'Schedule', updatedAt: '2026-01-01T00:00:00Z', actorIds: [ids.deviceId] }],
      '?dryRun=true'
    )
    t.same(dry.results.map(({ status }) => status), ['valid'])
  })

  await t.test('lines of an import refer by ids in name fields to stored records, lines, or neither', async t => {
    const { secret } = await gateway.createKey({ tenantId: client.tenantId })
    const lines = createImporter(gateway, secret)
    const buildReport = (id: string, performer: string) => ({
      resourceType: 'DiagnosticReport',
      updatedAt: '2026-01-01T00:00:00Z',
      id,
      code: 'HbA1c',
      patientId,
      performer
    })
    const fetchPerformers = async ({ id }: { readonly id?: string }) =>
      (await client.send('GET', `fhir/DiagnosticReport/${id}`)).body.performer
    const { results } = await lines.run([
      buildReport('n1', ids.practitionerId),
      buildReport('n2', 'Smith'),
      buildReport('n3', 'p1'),
      buildReport('n4', `Organization/${ids.organizationId}`),
      { resourceType: 'Practitioner', id: 'p1', name: [{ family: 'Clarke' }] }
    ])
    t.ok(results.every(({ status }) => status === 'created'), JSON.stringify(results))
    t.match(await fetchPerformers(results[0]!), [{ reference: `Practitioner/${ids.practitionerId}` }])
    t.same(await fetchPerformers(results[1]!), [{ display: 'Smith' }])
    t.match(await fetchPerformers(results[2]!), [{ reference: `Practitioner/${results[4]!.id}` }])
    t.match(await fetchPerformers(results[3]!), [{ reference: `Organization/${ids.organizationId}` }])
    const again = await lines.run([buildReport('n1', ids.organizationId)])
    t.match(again.results, [{ status: 'updated', id: results[0]!.id }])
    t.match(await fetchPerformers(results[0]!), [{ reference: `Organization/${ids.organizationId}` }], 'and in a change')

    const countCallsFor = async (prefix: string, performer: string): Promise<number> => {
      watched.seen.length = 0
      await lines.run(Array.from({ length: 50 }, (_, i) => buildReport(`${prefix}${i}`, performer)))
      return watched.seen.length
    }
    const named = await countCallsFor('a', 'Dr. Smith')
    t.ok((await countCallsFor('b', ids.practitionerId)) <= named + 2, 'one look-up for all lines of a batch')

    const other = await createGatewayClient(gateway)
    const { data: theirs } = await other.send('POST', 'patients', { lastName: 'F' })
    const theirLines = createImporter(gateway, (await gateway.createKey({ tenantId: other.tenantId })).secret)
    const foreign = await theirLines.run([{ ...buildReport('o1', ids.practitionerId), patientId: theirs.id }])
    t.match(foreign.results, [{ status: 'created' }])
    const { body } = await other.send('GET', `fhir/DiagnosticReport/${foreign.results[0]!.id}`)
    t.same(body.performer, [{ display: ids.practitionerId }], 'another organization’s record is found by no name')
  })
}

async function createTargets ({ send }: Client) {
  const make = async (path: string, body: object): Promise<string> => {
    const { status, data, text } = await send('POST', path, body)
    if (status !== 201) throw new Error(`${path}: ${text}`)
    return data.id
  }
  const patientId = await make('patients', { firstName: 'Ada', lastName: 'Byron' })
  const { body: payment } = await send('POST', 'fhir/PaymentReconciliation', {
    resourceType: 'PaymentReconciliation',
    status: 'active',
    created: '2026-01-01',
    paymentDate: '2026-01-01',
    paymentAmount: { value: 1, currency: 'EUR' }
  })
  return {
    patientId,
    paymentId: String(payment.id),
    practitionerId: await make('practitioners', { firstName: 'Joan', lastName: 'Clarke' }),
    organizationId: await make('organizations', { name: 'Clinic' }),
    locationId: await make('locations', { name: 'Room 1' }),
    deviceId: await make('devices', { deviceName: 'Pump' }),
    serviceId: await make('healthcare-services', { name: 'Cardiology' }),
    encounterId: await make('encounters', { class: 'AMB', status: 'finished', patientId }),
    orderId: await make('service-requests', { code: 'X-ray', patientId, status: 'active', intent: 'order' })
  }
}

/** Path, body, the field in the response and its value. */
function buildCases (
  ids: Awaited<ReturnType<typeof createTargets>>
): ReadonlyArray<readonly [string, object, string, unknown]> {
  const { patientId, practitionerId, organizationId, locationId, deviceId, encounterId, orderId, paymentId } = ids
  return [
    ['goals', { description: 'Walk', lifecycleStatus: 'active', patientId, expressedById: practitionerId },
      'expressedById', `Practitioner/${practitionerId}`],
    ['schedules', { actorIds: [locationId, practitionerId] }, 'actorIds', [`Location/${locationId}`, practitionerId]],
    ['care-teams', { name: 'Team', patientId, participant: [{ memberId: organizationId }] },
      'participant.0.memberId', `Organization/${organizationId}`],
    ['tasks', { status: 'requested', intent: 'order', patientId, focusId: encounterId }, 'focusId', `Encounter/${encounterId}`],
    ['payment-notices', {
      requestId: encounterId,
      recipientId: organizationId,
      amount: { value: 1, currency: 'EUR' },
      paymentId
    }, 'requestId', `Encounter/${encounterId}`],
    ['observations', { code: 'Weight', patientId, performerId: organizationId },
      'performerId', `Organization/${organizationId}`],
    ['intakes', { questionnaire: 'http://example.org/q', patientId, status: 'completed', items: [{ linkId: '1' }], basedOn: [orderId] },
      'basedOn', [`ServiceRequest/${orderId}`]],
    ['notes', { title: 'Note', patientId, content: 'Text', authorId: organizationId },
      'authorId', `Organization/${organizationId}`],
    ['notes', { title: 'Note', patientId, content: 'Text', authorId: deviceId },
      'authorId', `Device/${deviceId}`]
  ]
}
