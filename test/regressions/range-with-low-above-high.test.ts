import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { deviceRequests } from '../../src/mappings/resources/device-requests.js'
import { goals } from '../../src/mappings/resources/goals.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { createContext } from '../harness/create-context.js'

type Range = Readonly<Record<'low' | 'high', object>>

/** Each field that may hold a range, and the simple form around it. */
const fields: ReadonlyArray<{
  readonly mapping: Mapping
  readonly field: string
  readonly holding: (range: Range) => object
}> = [
  { mapping: observations, field: 'valueRange', holding: valueRange => ({ code: 'x', patientId: '1', valueRange }) },
  {
    mapping: observations,
    field: 'component',
    holding: value => ({
      code: 'x',
      patientId: '1',
      component: [
        { code: 'y', value: 1 },
        { code: 'z', value }
      ]
    })
  },
  {
    mapping: goals,
    field: 'target',
    holding: detail => ({ description: 'x', patientId: '1', target: [{ measure: 'y', detail }] })
  },
  {
    mapping: deviceRequests,
    field: 'parameter',
    holding: value => ({ code: 'x', patientId: '1', parameter: [{ code: 'y', value }] })
  }
]
/** What a create with the range is refused for. */
function refusals ({ mapping, holding }: typeof fields[number], range: Range) {
  const simple = mapping.withDefaults(holding(range) as Record<string, unknown>, createContext)
  return [...checkCreate(mapping, simple), ...checkRules(mapping, mapping.toFhir(simple))]
}

const grams = (value: unknown) => ({ value, system: 'http://unitsofmeasure.org', code: 'g' })

t.test('a range whose low is above its high is refused by the field that holds it, as rng-2 has it', async t => {
  for (const field of fields) {
    for (const range of [
      { low: { value: 10, unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { value: 10 }, high: { value: 1 } },
      { low: { value: new ExactNumber('1.10'), unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { ...grams(10), unit: 'g' }, high: { ...grams(1), unit: 'gram' } }
    ]) {
      t.match(
        refusals(field, range),
        [{ code: 'invariant', expression: [field.field], diagnostics: /low .* not be above .* high.*\(rng-2\)/ }],
        field.field
      )
    }
  }
})

t.test('a range in order is taken, and one whose ends cannot be compared', async t => {
  for (const field of fields) {
    for (const range of [
      { low: { value: 1, unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { value: 10, unit: 'mg' }, high: { value: 1, unit: 'g' } },
      { low: { value: 10, unit: 'mg' }, high: { value: 1 } },
      { low: { value: 10, unit: 'g' }, high: grams(1) },
      { low: grams(10), high: { ...grams(1), code: 'kg' } }
    ]) t.strictSame(refusals(field, range), [], field.field)
  }
})
