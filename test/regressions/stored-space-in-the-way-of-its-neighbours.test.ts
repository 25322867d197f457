import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// R4 allows a space or line break at the end of a text, which clients may not send: beside one that another system had
// stored, nothing could be changed.
t.test('a text with a space at its end can be sent back with its neighbours changed', async t => {
  const client = await clientOf(await startGateway(t))
  const stored = async (resource: { resourceType: string }): Promise<string> =>
    (await client.send('POST', `fhir/${resource.resourceType}`, resource)).body.id
  const patient = await stored({
    resourceType: 'Patient',
    name: [{ family: 'Byron', given: ['Ada'] }],
    address: [{ line: ['12 Main St ', 'Flat 3\n'], city: 'Y ' }],
    contact: [
      { name: { family: 'King' }, telecom: [{ system: 'phone', value: '1' }], address: { line: ['12 Main St '] } }
    ]
  } as never)
  const path = `patients/${patient}`
  const address = { line: ['12 Main St ', 'Flat 3\n'], city: 'Y ' }
  const taken = async (path: string, change: unknown, shows: object) => {
    const { status, data, text } = await client.send('PATCH', path, change)
    t.match([status, data], [200, shows], text)
  }
  await taken(path, { address: { state: 'Z' } }, { address: { ...address, state: 'Z' } })
  await taken(path, [{ op: 'replace', path: '/address/city', value: 'Z' }], { address: { ...address, city: 'Z' } })
  await taken(path, { address: { line: ['New', '12 Main St '] } }, { address: { line: ['New', '12 Main St '] } })
  const [contact] = (await client.send('GET', path)).data.contact
  await taken(
    path,
    { contact: [{ lastName: 'Lovelace' }, { ...contact, phone: '2' }] },
    { contact: [{ lastName: 'Lovelace' }, { phone: '2', address: { line: ['12 Main St '] } }] }
  )

  const observation = await stored({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'bp' },
    component: [{ code: { text: 'sys ' }, valueInteger: 1 }]
  } as never)
  await taken(
    `observations/${observation}`,
    { component: [{ code: 'sys ', value: 2 }] },
    { component: [{ code: 'sys ', value: 2 }] }
  )

  const refused = async (change: unknown, field: string) =>
    t.match(await client.send('PATCH', path, change), { status: 422, body: { issues: [{ expression: [field] }] } })
  await refused({ address: { city: 'Bern ' } }, 'address.city')
  await refused({ address: { line: ['New ', '12 Main St '] } }, 'address.line[0]')
  await refused({ address: { city: '12 Main St ' } }, 'address.city')
})
