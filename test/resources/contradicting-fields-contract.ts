import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

/**
 * A shortcut and its full list: the other fields that a record needs, the values of both in the request, and in the
 * response.
 */
interface Case {
  readonly path: string
  readonly body: object
  readonly sent: object
  /** Undefined where they contradict each other. */
  readonly shown?: object
  /** The stored records of a change: with each of the two alone. */
  readonly stored: readonly object[]
}

/** Fields that show the same, sent with different values, in new records and in changes. */
export async function testContradictingFields (t: Test, fhirUrl?: string): Promise<void> {
  const gateway = await startGateway(t, { plans: unlimitedPlans, ...(fhirUrl !== undefined && { fhirUrl }) })
  const client = await createGatewayClient(gateway)
  for (const { path, body, sent, shown, stored } of await buildCases(client)) {
    const names = Object.keys(sent)
    await t.test(`${path} with ${names.join(' and ')}`, async t => {
      const check = ({ status, data, text, body }: Awaited<ReturnType<Client['send']>>, message: string): void => {
        if (shown !== undefined) {
          t.match([status, data], [message === 'POST' ? 201 : 200, shown], `${message}: ${text.slice(0, 300)}`)
          return
        }
        t.equal(status, 422, message)
        // A merge may put the one into an object that has the other.
        const named = body.issues.flatMap(({ expression }: any) => expression[0].split('.'))
        t.ok(names.every(name => named.includes(name)), `${message}: ${named.join()}`)
      }
      check(await client.send('POST', path, { ...body, ...sent }), 'POST')
      for (const before of stored) {
        const make = async () => (await client.send('POST', path, { ...body, ...before })).data
        const record = await make()
        check(await client.send('PATCH', `${path}/${record.id}`, sent), `merge into ${JSON.stringify(before)}`)
        const operations = Object.entries(sent).map(([name, value]) => ({ op: 'add', path: `/${name}`, value }))
        const patched = await client.send('PATCH', `${path}/${(await make()).id}`, operations)
        check(patched, `JSON Patch of ${JSON.stringify(before)}`)
      }
    })
  }

  await t.test('a whole record in which one of the two was changed: the other follows, and a warning names it', async t => {
    const { patientId, a, b } = await createPeople(client)
    const { data } = await client.send('POST', 'encounters', {
      class: 'AMB',
      status: 'finished',
      patientId,
      practitionerId: a
    })
    const { status, data: after, body } = await client.send('PATCH', `encounters/${data.id}`, {
      ...data,
      participants: [{ practitionerId: b }]
    })
    t.match([status, after], [200, { practitionerId: b, participants: [{ practitionerId: b }] }])
    t.match(body.meta.warnings, [{ expression: ['practitionerId'] }])
  })

  await t.test("a JSON Patch that shortens a list and changes an item preserves the item's hidden parts", async t => {
    const { patientId } = await createPeople(client)
    const buildComponent = (text: string, valueString: string) => ({
      code: { text },
      valueString: 'x',
      extension: [{ url: 'http://example.org/hidden', valueString }]
    })
    const { body: stored } = await client.send('POST', 'fhir/Observation', {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'panel' },
      subject: { reference: `Patient/${patientId}` },
      component: [buildComponent('a', '1'), buildComponent('b', '2'), buildComponent('c', '3')]
    })
    const { status } = await client.send('PATCH', `observations/${stored.id}`, [
      { op: 'remove', path: '/component/0' },
      { op: 'replace', path: '/component/0/code', value: 'other' },
      { op: 'replace', path: '/component/0/value', value: 'y' }
    ])
    t.equal(status, 200)
    const { body } = await client.send('GET', `fhir/Observation/${stored.id}`)
    t.match(body.component, [{ ...buildComponent('other', '2'), valueString: 'y' }, buildComponent('c', '3')])
  })
}

async function createPeople ({ send }: Client) {
  const make = async (path: string, body: object): Promise<string> => (await send('POST', path, body)).data.id
  const [patientId, otherId] = [await make('patients', { lastName: 'P' }), await make('patients', { lastName: 'Q' })]
  const [a, b] = [await make('practitioners', { lastName: 'A' }), await make('practitioners', { lastName: 'B' })]
  const order = async (code: string) =>
    await make('service-requests', { code, patientId, status: 'active', intent: 'order' })
  return { patientId, otherId, a, b, orders: [await order('one'), await order('two')], make }
}

async function buildCases (client: Client): Promise<readonly Case[]> {
  const { patientId, otherId, a, b, orders: [one, two], make } = await createPeople(client)
  const insurerId = await make('organizations', { name: 'Insurer' })
  const other = { actorId: `Patient/${otherId}` }
  const [cardiology, degree] = [{ specialty: 'Cardiology' }, { qualifications: [{ name: 'MD' }] }]
  const [note, processNote] = [{ note: 'x' }, { processNote: [{ text: 'y', number: 1 }] }]
  const period = { collectedPeriod: { start: '2026-01-01' } }
  const day = { collection: { collectedDateTime: '2026-01-02' } }
  const appointment = { status: 'booked', start: '2026-01-01T10:00:00Z', end: '2026-01-01T10:30:00Z' }
  return [
    {
      path: 'encounters',
      body: { class: 'AMB', status: 'finished', patientId },
      sent: { practitionerId: a, participants: [{ practitionerId: b }] },
      shown: { practitionerId: a, participants: [{ practitionerId: a }, { practitionerId: b }] },
      stored: [{}, { practitionerId: a }, { practitionerId: b }]
    },
    {
      path: 'practitioners',
      body: { lastName: 'C' },
      sent: { ...cardiology, ...degree },
      shown: { specialty: 'Cardiology', qualifications: [{ name: 'Cardiology' }, { name: 'MD' }] },
      stored: [{}, cardiology, degree]
    },
    { path: 'specimens', body: { patientId, type: 'Blood' }, sent: { ...period, ...day }, stored: [{}, period, day] },
    {
      path: 'appointments',
      body: appointment,
      sent: { patientId, participants: [other] },
      shown: { patientId, participants: [{ actorId: `Patient/${patientId}` }, other] },
      stored: [{ patientId }, { patientId: otherId }]
    },
    {
      path: 'documents',
      body: { title: 'D', type: 'Report', patientId, status: 'final' },
      sent: { practitionerId: a, authorIds: [b] },
      shown: { practitionerId: a, authorIds: [a, b] },
      stored: [{ practitionerId: a }, { practitionerId: b }]
    },
    {
      path: 'claim-responses',
      body: { status: 'active', type: 'professional', use: 'claim', patientId, insurerId, outcome: 'complete' },
      sent: { ...note, ...processNote },
      shown: { note: 'x', processNote: [{ text: 'x' }, { text: 'y', number: 1 }] },
      stored: [{}, note, processNote]
    },
    {
      path: 'appointments',
      body: { ...appointment, patientId },
      sent: { basedOnId: one, basedOnIds: [two] },
      shown: { basedOnId: one, basedOnIds: [one, two] },
      stored: [{}, { basedOnId: one }, { basedOnId: two }]
    }
  ]
}
