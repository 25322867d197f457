import { concept } from '../datatypes/concept.js'
import { reference } from '../datatypes/reference.js'
import type { Rule } from '../core/rule.js'
import { code } from '../datatypes/code.js'
import { boolean, nonNegativeDecimal, positiveInteger, text } from '../datatypes/primitives.js'
import { nonNegativeQuantity } from '../datatypes/quantities.js'
import type { Codec } from '../core/codec.js'
import type { Element } from '../core/element.js'
import { isElement } from '../core/path.js'
import { backbone } from '../core/structure.js'
import { unitsOfTime } from '../value-sets.js'
import { choice, isBoolean } from './choice.js'
import { fromFirstItem, firstItemLens, listItemField } from './list-items.js'
import { clearsSiblings } from '../core/outdated.js'

/** The medicine in words or by a code, as orders, dispenses and statements name it. */
export const medication = concept('medicationCodeableConcept', {
  required: true,
  choice: 'medication',
  filter: 'code',
  about: 'The medicine as text or as a code; medicationId can be used instead.'
})

/** The medicine as a record of the store. */
export const medicationId = reference('Medication')('medicationReference', {
  choice: 'medication',
  filter: 'medication',
  about: 'The medicine as a stored Medication record, instead of medication.'
})

/** medication[x] is 1..1 in R4. */
export const medicationRule: Rule = {
  key: 'medication[x] 1..1',
  fields: ['medication', 'medicationId'],
  message: 'medication or medicationId is required',
  holds: resource => resource.medicationCodeableConcept !== undefined || resource.medicationReference !== undefined
}

/** A reason for taking it implies that it is taken as needed; the reason stays stored as long as `asNeeded` is true. */
const withReason: Codec<boolean> = {
  ...boolean.codec,
  read: stored => (isElement(stored) ? true : undefined),
  write: () => undefined
}

const asNeeded: Element<boolean> = {
  ...choice<boolean>('asNeeded', [
    { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
    { suffix: 'CodeableConcept', codec: withReason, is: () => false }
  ]),
  schema: boolean.codec.schema
}

/**
 * The parts of a timing that the simple form does not show: a code for the entire timing, such as BID, and the upper
 * ends of 3 to 4 times in 6 to 8 h.
 */
const restOfTiming = [
  'code',
  'repeat.frequencyMax',
  'repeat._frequencyMax',
  'repeat.periodMax',
  'repeat._periodMax'
].map(path => `timing.${path}`)

/** A part of the timing. Its change removes the parts that no field shows: they would describe the old timing. */
const clearsRestOfTiming = <T>(part: Element<T>): Element<T> => clearsSiblings(restOfTiming, part)

const instruction = backbone({
  dose: fromFirstItem('doseAndRate', nonNegativeQuantity('doseQuantity', { choice: 'dose' })),
  frequency: clearsRestOfTiming(positiveInteger('timing.repeat.frequency')),
  period: clearsRestOfTiming(nonNegativeDecimal('timing.repeat.period')),
  periodUnit: clearsRestOfTiming(code(unitsOfTime)('timing.repeat.periodUnit')),
  route: concept('route'),
  asNeeded
}, {
  schema: { dependentRequired: { period: ['periodUnit'] } },
  expects: 'an object with dose, frequency, period, periodUnit, route and asNeeded; period needs periodUnit'
})

/**
 * The first of the Dosages at a path in numbers and codes: 500 mg by mouth, 3 times in 1 d. Its other content is
 * retained.
 */
export const dosage = (path: string) =>
  listItemField(instruction.codec, { path, lens: firstItemLens }, {
    about: 'Dose, frequency and route as numbers and codes.'
  })

/** The words of the first of the Dosages at a path. */
export const dosageText = (path: string) => fromFirstItem(path, text('text', { about: 'Instructions as text.' }))
