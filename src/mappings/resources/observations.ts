import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, isAscending, rangeRule, type Rule } from '../core/rule.js'
import { period } from '../datatypes/complex.js'
import { code } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, instantOrDay, integer, text, textUpTo } from '../datatypes/primitives.js'
import { quantity, range, ratio, simpleQuantity } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { component } from '../fields/component.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { interpretations, observationCategories, observationStatus } from '../value-sets.js'

const observationRules: readonly Rule[] = [
  {
    key: 'US Core',
    severity: 'warning',
    fields: ['effectiveDateTime'],
    message: 'give the clinically relevant time in this field or in effectivePeriod',
    holds: observation => exists(observation, 'effective[x]')
  },
  {
    key: 'obs-3',
    fields: ['referenceRange'],
    message: 'each range needs low, high or text',
    holds: observation =>
      [observation, ...itemsAt(observation, 'component')].every(
        holder =>
          isElement(holder) &&
          itemsAt(holder, 'referenceRange').every(
            range => isElement(range) && ['low', 'high', 'text'].some(part => range[part] !== undefined)
          )
      )
  },
  {
    key: 'obs-6',
    fields: ['dataAbsentReason'],
    message: 'leave it out when there is a value, or remove the value',
    holds: observation => observation.dataAbsentReason === undefined || !hasValue(observation)
  },
  {
    key: 'obs-7',
    fields: ['component'],
    message: 'a component must not have the code of the observation when the observation has a value',
    holds: observation =>
      !hasValue(observation) ||
      !itemsAt(observation, 'component').some(
        component => isElement(component) && listCodes(component).some(code => listCodes(observation).includes(code))
      )
  },
  {
    fields: ['referenceRange'],
    message: 'low of a range must not be above its high',
    holds: observation => itemsAt(observation, 'referenceRange').every(isAscending)
  },
  rangeRule('valueRange'),
  rangeRule('valueRange', 'component')
]

const hasValue = (holder: FhirElement): boolean => Object.keys(holder).some(name => /^value[A-Z]/.test(name))

function listCodes (holder: FhirElement): string[] {
  return itemsAt(holder, 'code.coding').flatMap(coding =>
    isElement(coding) && coding.code !== undefined ? [JSON.stringify([coding.system, coding.code])] : []
  )
}

/** http://hl7.org/fhir/R4/observation.html */
export const observations = mapping('Observation', {
  path: 'observations',
  operation: 'createObservation',
  about: 'One thing measured or stated about a patient.',
  fields: {
    identifiers: identifiers(),
    status: code(observationStatus)('status', { required: true, default: 'final', filter: 'status' }),
    code: concept('code', { required: true, filter: 'code', about: 'What was measured; LOINC preferred.' }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    category: conceptOf({ known: observationCategories }).list('category', { filter: 'category' }),
    component: component.list('component'),
    effectiveDateTime: dateTime('effectiveDateTime', {
      choice: 'effective',
      about: 'The clinically relevant time of the observation.'
    }),
    effectivePeriod: period('effectivePeriod', { choice: 'effective' }),
    issued: instantOrDay('issued'),
    interpretation: conceptOf({ known: interpretations }).list('interpretation'),
    referenceRange: backbone({ low: simpleQuantity('low'), high: simpleQuantity('high'), text: text('text') }).list(
      'referenceRange'
    ),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    performerId: reference([
      'Practitioner',
      'PractitionerRole',
      'Organization',
      'CareTeam',
      'Patient',
      'RelatedPerson'
    ]).first('performer', { filter: 'performer' }),
    specimenId: reference('Specimen')('specimen', { filter: 'specimen' }),
    deviceId: reference(['Device', 'DeviceMetric'])('device', { filter: 'device' }),
    bodySite: concept('bodySite'),
    method: concept('method'),
    dataAbsentReason: concept('dataAbsentReason'),
    note: note('note'),
    valueQuantity: quantity('valueQuantity', { choice: 'value', filter: 'value-quantity' }),
    valueString: textUpTo(2000)('valueString', { choice: 'value' }),
    valueCodeableConcept: concept('valueCodeableConcept', { choice: 'value' }),
    valueBoolean: boolean('valueBoolean', { choice: 'value' }),
    valueInteger: integer('valueInteger', { choice: 'value' }),
    valueDateTime: dateTime('valueDateTime', { choice: 'value' }),
    valuePeriod: period('valuePeriod', { choice: 'value' }),
    valueRange: range('valueRange', { choice: 'value' }),
    valueRatio: ratio('valueRatio', { choice: 'value' })
  },
  filters: { dateFrom: from('date'), dateTo: until('date') },
  rules: observationRules
})
