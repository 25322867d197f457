import type { Test } from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { createGatewayClient, type ClientResponse } from '../harness/client.js'
import type { FhirServer } from '../harness/fhir-server.js'
import type { TestGateway } from '../harness/gateway.js'

/** The parts of a record that changes must preserve, on every FHIR server. */
export async function testChanges (t: Test, gateway: TestGateway, server: FhirServer): Promise<void> {
  await t.test('the text of a number is preserved through create, read, search and patch', t => testNumberText(t, gateway))
  await t.test('concurrent patches of different fields are all preserved', t => testConcurrentChanges(t, gateway))
  await t.test('a patient preserves all parts that its simple form cannot show', t => testHiddenContent(t, gateway, server))
}

async function testNumberText (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  const patient = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
  const weight = {
    code: 'weight',
    patientId: patient.id,
    valueQuantity: { value: new ExactNumber('1.10'), unit: 'kg' },
    referenceRange: [{ low: { value: new ExactNumber('0.50') } }]
  }
  const response = await client.send('POST', 'observations', weight)
  const path = `observations/${response.data.id}`
  const assertNumbers = ({ text }: ClientResponse, value: string, title: string) =>
    t.match(text, new RegExp(`"valueQuantity":\\{"value":${value}[,}].*`), title) &&
    t.match(text, '"low":{"value":0.50}', title)
  assertNumbers(response, '1.10', 'create')
  assertNumbers(await client.send('GET', path), '1.10', 'read')
  assertNumbers(await client.send('GET', `observations?patientId=${patient.id}`), '1.10', 'search')
  assertNumbers(await client.send('GET', 'observations?valueQuantity=1.10'), '1.10', 'search by the number')
  assertNumbers(await client.send('PATCH', path, { note: 'another field' }), '1.10', 'merge of another field')
  assertNumbers(await client.send('PATCH', path, { valueQuantity: { unit: 'kilogram' } }), '1.10', 'merge beside it')
  assertNumbers(
    await client.send('PATCH', path, [
      { op: 'test', path: '/valueQuantity/value', value: 1.1 },
      { op: 'replace', path: '/note', value: 'x' }
    ]),
    '1.10',
    'JSON Patch of another field'
  )
  assertNumbers(
    await client.send('PATCH', path, [
      { op: 'replace', path: '/valueQuantity/value', value: new ExactNumber('1.100') }
    ]),
    '1.100',
    'JSON Patch'
  )
  assertNumbers(await client.send('PATCH', path, { valueQuantity: { value: new ExactNumber('2.0') } }), '2.0', 'merge')
  assertNumbers(await client.send('GET', path), '2.0', 'read')
}

async function testConcurrentChanges (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  const { data } = await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const path = `patients/${data.id}`
  for (let round = 1; round <= 30; round++) {
    const changes = [
      { email: `ada${round}@example.org` },
      { phone: `+41 ${round}` },
      [{ op: 'replace', path: '/lastName', value: `Byron${round}` }],
      { maritalStatus: `state ${round}` }
    ].slice(0, 2 + (round % 3))
    const responses = await Promise.all(changes.map(change => client.send('PATCH', path, change)))
    t.strictSame(
      responses.map(({ status }) => status),
      changes.map(() => 200),
      responses.map(({ text }) => text).join()
    )
    const expected = Object.assign(
      {},
      ...changes.map(change => (Array.isArray(change) ? { lastName: `Byron${round}` } : change))
    )
    t.match((await client.send('GET', path)).data, expected, `round ${round}`)
  }
}

/** With a part of every kind that no field of a patient shows. */
const patient = {
  resourceType: 'Patient',
  text: {
    status: 'additional',
    div: '<div xmlns="http://www.w3.org/1999/xhtml"><p>Ada, as another system tells of her</p></div>'
  },
  contained: [{ resourceType: 'Organization', id: 'insurer', name: 'An insurer' }],
  extension: [
    { url: 'http://example.org/eye-colour', valueString: 'brown' },
    { url: 'http://example.org/height', valueDecimal: 1.5 }
  ],
  modifierExtension: [{ url: 'http://example.org/provisional', valueBoolean: true }],
  identifier: [{ system: 'urn:oid:1.2.3', value: '77', period: { start: '2020' }, assigner: { display: 'A town' } }],
  active: true,
  name: [
    { use: 'old', family: 'Gordon', given: ['Augusta'] },
    {
      use: 'official',
      family: 'Byron',
      _family: {
        extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/humanname-own-name', valueString: 'Byron' }]
      },
      given: ['Ada', 'Augusta'],
      period: { start: '1990' }
    },
    { use: 'nickname', text: 'The Enchantress' }
  ],
  telecom: [
    { system: 'phone', value: '+41 1', use: 'home', rank: 2 },
    { system: 'fax', value: '+41 2' },
    { system: 'email', value: 'ada@example.org', period: { start: '2021' } },
    { system: 'email', value: 'second@example.org' }
  ],
  birthDate: '1990-03-14',
  _birthDate: {
    extension: [
      { url: 'http://hl7.org/fhir/StructureDefinition/patient-birthTime', valueDateTime: '1990-03-14T09:30:00+01:00' }
    ]
  },
  address: [
    { line: ['1 Main Street'], city: 'Bern', district: 'Mitte', period: { start: '2019' } },
    { use: 'old', city: 'Basel' }
  ],
  maritalStatus: {
    coding: [
      { system: 'http://terminology.hl7.org/CodeSystem/v3-MaritalStatus', code: 'M', version: '9', userSelected: true },
      { system: 'http://example.org/states', code: 'x7' }
    ],
    text: 'married'
  },
  multipleBirthInteger: 2,
  contact: [
    {
      name: { family: 'Lovelace', given: ['William'], suffix: ['Earl'] },
      gender: 'male',
      organization: { reference: '#insurer' }
    }
  ],
  communication: [
    {
      language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'de' }] },
      preferred: true,
      extension: [{ url: 'http://example.org/level', valueCode: 'c2' }]
    }
  ]
}

async function testHiddenContent (t: Test, gateway: TestGateway, server: FhirServer): Promise<void> {
  const client = await createGatewayClient(gateway)
  const { id } = await server.store(client.tenantId, patient as unknown as FhirResource)
  let expected: any = structuredClone(patient)
  const patch = async (change: unknown, edit: (resource: any) => void) => {
    const response = await client.send('PATCH', `patients/${id}`, change)
    t.equal(response.status, 200, response.text)
    edit(expected)
    const { id: _, meta, ...stored } = await server.read('Patient', id)
    t.strictSame(JSON.parse(JSON.stringify(stored)), expected, JSON.stringify(change))
    expected = structuredClone(expected)
  }
  await patch({ email: 'new@example.org' }, ({ telecom }) => {
    telecom[2] = { system: 'email', value: 'new@example.org', period: { start: '2021' } }
  })
  await patch({ firstName: 'Augusta Ada' }, ({ name }) => { name[1].given = ['Augusta Ada', 'Augusta'] })
  await patch({ birthDate: '1990-03-15' }, resource => {
    resource.birthDate = '1990-03-15'
    // A time of birth belongs to the old day.
    delete resource._birthDate
  })
  await patch({ address: { city: 'Zug' } }, ({ address }) => { address[0] = { ...address[0], city: 'Zug' } })
  await patch([{ op: 'remove', path: '/phone' }], ({ telecom }) => telecom.shift())
  await patch({ contact: [{ firstName: 'William', lastName: 'King', relationship: 'husband' }] }, ({ contact }) => {
    contact[0] = { ...contact[0], relationship: [{ text: 'husband' }], name: { ...contact[0].name, family: 'King' } }
  })
  await patch({ maritalStatus: null }, resource => { delete resource.maritalStatus })
  await patch({ address: null }, ({ address }) => address.shift())
  await patch({ active: false, gender: 'female' }, resource =>
    Object.assign(resource, { active: false, gender: 'female' })
  )
}
