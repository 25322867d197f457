import t from 'tap'
import { imagingStudies } from '../../src/mappings/resources/imaging-studies.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { practitioners } from '../../src/mappings/resources/practitioners.js'

// A number that nobody has any more was shown as the phone, and a new one was stored in its place and was out of use as
// well.
t.test(
  'a phone, e-mail address, NPI or study UID that is out of use is kept unseen, and a new one is in use',
  async t => {
    const cases = [
      { mapping: patients, field: 'phone', list: 'telecom', system: 'phone', old: '1', stored: '2', shown: '2' },
      {
        mapping: patients,
        field: 'email',
        list: 'telecom',
        system: 'email',
        old: 'a@b.c',
        stored: 'd@e.f',
        shown: 'd@e.f'
      },
      {
        mapping: practitioners,
        field: 'npi',
        list: 'identifier',
        system: 'http://hl7.org/fhir/sid/us-npi',
        old: '1234567893',
        stored: '1245319599',
        shown: '1245319599'
      },
      {
        mapping: imagingStudies,
        field: 'studyUid',
        list: 'identifier',
        system: 'urn:dicom:uid',
        old: 'urn:oid:1.2.3',
        stored: 'urn:oid:1.2.4',
        shown: '1.2.4'
      }
    ] as const
    for (const { mapping, field, list, system, old, stored, shown } of cases) {
      const outOfUse = { system, value: old, use: 'old' }
      const inUse = { system, value: stored }
      const before = { resourceType: mapping.type, [list]: [outOfUse] }
      const both = { ...before, [list]: [outOfUse, inUse] }
      t.notOk(Object.hasOwn(mapping.toSimple(before), field), `${field} is not shown`)
      t.strictSame(mapping.patch(before, { [field]: shown }), both, `${field} is added`)
      t.match(mapping.toSimple(both), { [field]: shown }, `${field} in use is shown`)
      t.strictSame(mapping.patch(both, { [field]: null }), before, `${field} out of use stays`)
    }
  }
)
