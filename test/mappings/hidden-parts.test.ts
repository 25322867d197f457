/** The hidden parts of a record, under changes of its shown parts. */
import t from 'tap'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { listLostPaths } from '../../src/mappings/core/losses.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'

const findMapping = (path: string): Mapping => mappings.find(mapping => mapping.path === path)!

function applyChanges (
  path: string,
  before: object,
  changes: Readonly<Record<string, unknown>>
): { readonly after: FhirElement; readonly lost: readonly string[] } {
  const mapping = findMapping(path)
  const after = mapping.patch(before as FhirElement, changes)
  return { after, lost: listLostPaths(mapping, before as FhirElement, after) }
}

const extension = [{ url: 'http://example.org/a', valueString: 'hidden' }]

t.test('an address whose postal code changes preserves its district, period, type and extensions', async t => {
  const address = {
    use: 'home',
    type: 'both',
    line: ['1 Main St'],
    _line: [{ extension }],
    city: 'New York',
    district: 'Manhattan',
    postalCode: '10000',
    period: { start: '2020' },
    extension
  }
  const shown = { use: 'home', line: ['1 Main St'], city: 'New York' }
  const { after, lost } = applyChanges(
    'patients',
    { resourceType: 'Patient', address: [address] },
    { address: { ...shown, postalCode: '10001' } }
  )
  t.strictSame(after, { resourceType: 'Patient', address: [{ ...address, postalCode: '10001' }] })
  t.strictSame(lost, [])
})

t.test('an identifier, a period and an attachment that change preserve their hidden parts', async t => {
  const identifier = {
    type: { text: 'MRN' },
    system: 'http://a',
    value: '1',
    assigner: { display: 'Clinic' },
    period: { start: '2020' }
  }
  t.strictSame(
    applyChanges(
      'patients',
      { resourceType: 'Patient', identifier: [identifier] },
      { identifiers: [{ system: 'http://a', value: '2' }] }
    ).after,
    { resourceType: 'Patient', identifier: [{ ...identifier, value: '2' }] }
  )
  t.strictSame(
    applyChanges(
      'encounters',
      { resourceType: 'Encounter', period: { start: '2020', extension } },
      { period: { start: '2020', end: '2021' } }
    ).after,
    { resourceType: 'Encounter', period: { start: '2020', end: '2021', extension } }
  )
  const photo = { contentType: 'image/png', url: 'http://a/1', size: 7, extension }
  const { after, lost } = applyChanges(
    'patients',
    { resourceType: 'Patient', photo: [photo] },
    { photo: { contentType: 'image/png', url: 'http://a/2' } }
  )
  t.strictSame(after, { resourceType: 'Patient', photo: [{ contentType: 'image/png', url: 'http://a/2', extension }] })
  t.strictSame(lost, ['photo.size'], 'the size of another file is not kept, and that is said')
})

t.test('a permit for one code does not become one for all when its type changes', async t => {
  const inner = { type: 'permit', code: [{ text: 'HIV' }], extension }
  const before = { resourceType: 'Consent', provision: { type: 'permit', provision: [inner] } }
  const { provision } = findMapping('consents').toSimple(before as never) as {
    provision: { provision: Array<Record<string, unknown>> }
  }
  const { after } = applyChanges('consents', before, {
    provision: { ...provision, provision: [{ ...provision.provision[0], type: 'deny' }] }
  })
  t.match(after, { provision: { provision: [{ ...inner, type: 'deny' }] } })
})

t.test('a description of the old value of a primitive is removed with it, and a warning names it', async t => {
  const masked = {
    resourceType: 'Patient',
    birthDate: '1980',
    _birthDate: {
      extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'masked' }]
    }
  }
  for (const birthDate of ['1990-01-01', null]) {
    const { after, lost } = applyChanges('patients', masked, { birthDate })
    t.strictSame(after, { resourceType: 'Patient', ...birthDate !== null && { birthDate } })
    t.strictSame(lost, ['birthDate.extension'])
  }
  const phone = {
    system: 'phone',
    value: '+41 44 1',
    rank: 1,
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/contactpoint-local', valueString: '1' }, ...extension]
  }
  const { after, lost } = applyChanges('patients', { resourceType: 'Patient', telecom: [phone] }, { phone: '2' })
  t.strictSame(after, { resourceType: 'Patient', telecom: [{ system: 'phone', value: '2', rank: 1, extension }] })
  t.strictSame(lost, ['telecom.extension'])
})

t.test('an answer of a questionnaire without a value shows its nested items', async t => {
  const items = [{ linkId: '1', answer: [{ items: [{ linkId: '1.1', answer: [{ valueInteger: 2 }] }] }] }]
  const intakes = mappings.find(({ type }) => type === 'QuestionnaireResponse')!
  t.strictSame(checkChange(intakes, { items }), [])
  const resource = intakes.toFhir({ items })
  t.match(resource, { item: [{ answer: [{ item: [{ linkId: '1.1', answer: [{ valueInteger: 2 }] }] }] }] })
  t.match(intakes.toSimple(resource), { items })
})

t.test('a dose that replaces one with a comparator, which R4 forbids there, has no comparator', async t => {
  const doseQuantity = { value: 5, comparator: '<', unit: 'mg' }
  const before = { resourceType: 'MedicationRequest', dosageInstruction: [{ doseAndRate: [{ doseQuantity }] }] }
  t.strictSame(findMapping('prescriptions').toSimple(before), {}, 'less than 5 mg is not shown as 5 mg')
  const { after, lost } = applyChanges('prescriptions', before, { dosage: { dose: { value: 10, unit: 'mg' } } })
  t.strictSame(after.dosageInstruction, [{ doseAndRate: [{ doseQuantity: { value: 10, unit: 'mg' } }] }])
  t.ok(lost.includes('dosageInstruction.doseAndRate.doseQuantity.comparator'), 'the client learns what is gone')
})
