import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, date, dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { exists, type Rule } from '../core/rule.js'

const familyHistoryRules: readonly Rule[] = [
  {
    key: 'fhs-1',
    fields: ['ageString', 'bornDate'],
    message: 'send the age or the birth, not both',
    holds: history => !exists(history, 'age[x]') || !exists(history, 'born[x]')
  },
  {
    key: 'fhs-2',
    fields: ['estimatedAge', 'ageString'],
    message: 'estimatedAge needs an age',
    holds: history => !exists(history, 'estimatedAge') || exists(history, 'age[x]')
  }
]

const finding = conceptOf({ max: 500 })

/** http://hl7.org/fhir/R4/familymemberhistory.html */
export const familyHistory = mapping('FamilyMemberHistory', {
  path: 'family-history',
  operation: 'createFamilyMemberHistory',
  about: 'The illnesses of one relative of a patient.',
  fields: {
    identifiers: identifiers(),
    status: code(['partial', 'completed', 'health-unknown', 'entered-in-error'])('status', {
      required: true,
      filter: 'status'
    }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    date: dateTime('date', { about: 'When this was recorded.' }),
    name: textUpTo(200)('name'),
    relationship: conceptOf({ max: 200 })('relationship', { required: true, filter: 'relationship' }),
    sex: conceptOf({ max: 50 })('sex'),
    bornDate: date('bornDate', { choice: 'born' }),
    ageString: textUpTo(100)('ageString', { choice: 'age', about: 'Instead of bornDate.' }),
    estimatedAge: boolean('estimatedAge', { about: 'Whether the age is an estimate.' }),
    deceasedBoolean: boolean('deceasedBoolean', { choice: 'deceased' }),
    deceasedDate: date('deceasedDate', { choice: 'deceased' }),
    reasonCode: finding.list('reasonCode', { maxItems: 10, about: 'Why the history was taken.' }),
    note: note('note', { max: 2000 }),
    condition: backbone({
      code: finding('code', { required: true }),
      outcome: finding('outcome'),
      contributedToDeath: boolean('contributedToDeath'),
      onsetString: textUpTo(200)('onsetString', { choice: 'onset' }),
      note: note('note', { max: 2000 })
    }).list('condition', { maxItems: 20, about: 'What the relative has or had.' })
  },
  filters: { dateFrom: from('date'), dateTo: until('date') },
  rules: familyHistoryRules
})
