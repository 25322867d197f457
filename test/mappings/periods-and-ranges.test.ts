import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { appointmentResponses } from '../../src/mappings/resources/appointment-responses.js'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { conditions } from '../../src/mappings/resources/conditions.js'
import { deviceRequests } from '../../src/mappings/resources/device-requests.js'
import { devices } from '../../src/mappings/resources/devices.js'
import { goals } from '../../src/mappings/resources/goals.js'
import { immunizations } from '../../src/mappings/resources/immunizations.js'
import { medicationStatements } from '../../src/mappings/resources/medication-statements.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'
import { slots } from '../../src/mappings/resources/slots.js'
import { createContext } from '../harness/create-context.js'
import { startGateway } from '../harness/gateway.js'
import { createImporter } from '../jobs/importing.js'
import { listRefusedFields } from './refused-fields.js'

const [ten, eleven] = ['2026-03-14T10:00:00Z', '2026-03-14T11:00:00Z']

// Only the ends of a Period were compared, so a visit could end before it began.
t.test('a time that ends before its start is rejected however it is written, by both fields', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const send = async (method: 'POST' | 'PATCH', path: string, payload: object): Promise<any> =>
    (
      await gateway.inject({
        method,
        url: `/v1/${path}`,
        headers: { 'x-api-key': secret, 'content-type': 'application/json' },
        payload
      })
    ).json()
  const { data: { id: patientId } } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const issues = ['start', 'end'].map(field => ({
    code: 'invariant',
    expression: [field],
    diagnostics: `${field}: end must not be before start`
  }))
  const refused = { meta: { status: 422 }, code: 'VALIDATION_ERROR', issues }

  t.match(await send('POST', 'appointments', { patientId, start: eleven, end: ten }), refused)
  const { data: { id } } = await send('POST', 'appointments', { patientId, start: ten, end: eleven })
  t.match(await send('PATCH', `appointments/${id}`, { start: '2026-03-14T12:30:00+01:00' }), refused)
  t.match(await send('PATCH', `appointments/${id}`, { end: '2026-03-14T10:30:00+01:00' }), refused)
  t.match(
    await send('PATCH', `appointments/${id}`, [{ op: 'replace', path: '/end', value: '2026-03-14T09:59:59Z' }]),
    refused
  )
  t.equal(
    (await send('PATCH', `appointments/${id}`, { start: '2026-03-14T12:00:00+01:00' })).meta.status,
    200,
    'as long as no time'
  )

  const { results } = await createImporter(gateway, secret).run(
    [
      { patientId, start: eleven, end: ten },
      { id, patientId, start: eleven, end: ten }
    ],
    '?resourceType=appointments'
  )
  t.match(results, [
    { code: 'VALIDATION_ERROR', message: /end must not be before start/ },
    { code: 'VALIDATION_ERROR', message: /end must not be before start/ }
  ])
})

type Times = readonly [first: string, last: string]
interface Pair {
  readonly mapping: Mapping
  readonly names: Times
  readonly least: object
  readonly wrong: readonly Times[]
  readonly right: readonly Times[]
}

const instants = { wrong: [[eleven, ten]], right: [[ten, eleven], [ten, ten]] } as const
const datesAndTimes = {
  wrong: [
    ['2024', '2023'],
    ['2024-06', '2024-05-31'],
    ['2024-06-02', '2024-06-01'],
    ['2024-06-03', '2024-06-01T12:00:00Z'],
    [eleven, ten]
  ],
  right: [
    ['2024', '2024-06'],
    ['2024-06', '2024'],
    ['2024-06-02', '2024-06'],
    ['2024-06-02', '2024-06-02'],
    ['2024-06-02', '2024-06-01T23:00:00-05:00'],
    [ten, '2026-03-14']
  ]
} as const
const pairs: readonly Pair[] = [
  { mapping: appointments, names: ['start', 'end'], least: { patientId: '1' }, ...instants },
  { mapping: slots, names: ['start', 'end'], least: { scheduleId: '1', status: 'free' }, ...instants },
  {
    mapping: appointmentResponses,
    names: ['start', 'end'],
    least: { appointmentId: '1', actorId: '1', participantStatus: 'tentative' },
    ...instants
  },
  {
    mapping: conditions,
    names: ['onsetDateTime', 'abatementDateTime'],
    least: { patientId: '1', clinicalStatus: 'resolved' },
    ...datesAndTimes
  },
  { mapping: devices, names: ['manufactureDate', 'expirationDate'], least: { deviceName: 'Pump' }, ...datesAndTimes }
]

t.test('each pair of a first and a last time is compared, to the precision that both have', async t => {
  for (const { mapping, names, least, wrong, right } of pairs) {
    const findRefused = ([first, last]: Times) =>
      listRefusedFields(mapping, { ...least, [names[0]]: first, [names[1]]: last })
    for (const times of wrong) t.strictSame(findRefused(times), [...names].sort(), `${mapping.path} ${times.join(' ')}`)
    for (const times of right) t.strictSame(findRefused(times), [], `${mapping.path} ${times.join(' ')}`)
  }
})

t.test('a pair that another system stored in the wrong order does not prevent another change', async t => {
  const stored = { resourceType: 'Slot', start: eleven, end: ten }
  const countViolations = (changes: Readonly<Record<string, unknown>>) =>
    checkRules(slots, slots.patch(stored, changes), { written: Object.keys(changes), before: stored }).length
  t.equal(countViolations({ comment: 'x' }), 0)
  t.equal(countViolations({ end: '2026-03-14T10:30:00Z' }), 2)
  t.equal(countViolations({ end: '2026-03-14T11:30:00Z' }), 0)
})

t.test('a reference range whose low is above its high is rejected', async t => {
  const findRefused = (...referenceRange: object[]) =>
    listRefusedFields(observations, { code: 'x', patientId: '1', referenceRange })
  t.strictSame(
    findRefused({ low: { value: 1 }, high: { value: 2 } }, { low: { value: 5, unit: 'g' }, high: { value: 3, unit: 'g' } }),
    ['referenceRange']
  )
  t.strictSame(findRefused({ low: { value: 5, unit: 'mg' }, high: { value: 3, unit: 'g' } }, { high: { value: 3 } }), [])
})

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
/** The issues of a create with the range. */
function listIssues ({ mapping, holding }: typeof fields[number], range: Range) {
  const simple = mapping.withDefaults(holding(range) as Record<string, unknown>, createContext)
  return [...checkCreate(mapping, simple), ...checkRules(mapping, mapping.toFhir(simple))]
}

const grams = (value: unknown) => ({ value, system: 'http://unitsofmeasure.org', code: 'g' })

t.test('a range whose low is above its high is rejected by the field that holds it, by rng-2', async t => {
  for (const field of fields) {
    for (const range of [
      { low: { value: 10, unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { value: 10 }, high: { value: 1 } },
      { low: { value: new ExactNumber('1.10'), unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { ...grams(10), unit: 'g' }, high: { ...grams(1), unit: 'gram' } }
    ]) {
      t.match(
        listIssues(field, range),
        [{ code: 'invariant', expression: [field.field], diagnostics: /low .* not be above .* high.*\(rng-2\)/ }],
        field.field
      )
    }
  }
})

t.test('a range in order is accepted, and one whose ends cannot be compared', async t => {
  for (const field of fields) {
    for (const range of [
      { low: { value: 1, unit: 'mg' }, high: { value: 1, unit: 'mg' } },
      { low: { value: 10, unit: 'mg' }, high: { value: 1, unit: 'g' } },
      { low: { value: 10, unit: 'mg' }, high: { value: 1 } },
      { low: { value: 10, unit: 'g' }, high: grams(1) },
      { low: grams(10), high: { ...grams(1), code: 'kg' } }
    ]) t.strictSame(listIssues(field, range), [], field.field)
  }
})

const negative = { value: -5, unit: 'mg' }
const none = { value: 0, unit: 'mg' }

t.test('a dose or an amount to dispense that is below zero is rejected', async t => {
  for (const [mapping, path, changes] of [
    [prescriptions, 'dosage.dose.value', (dose: object) => ({ dosage: { dose } })],
    [medicationStatements, 'dosage.dose.value', (dose: object) => ({ dosage: { dose } })],
    [prescriptions, 'quantity.value', (quantity: object) => ({ quantity })],
    [immunizations, 'doseQuantity.value', (doseQuantity: object) => ({ doseQuantity })]
  ] as const) {
    t.match(checkChange(mapping, changes(negative)), [{ expression: [path], diagnostics: `${path}: at least 0` }])
    t.strictSame(checkChange(mapping, changes(none)), [])
    t.strictSame(
      checkChange(mapping, changes(negative), changes(negative)),
      [],
      'one that is stored so may be sent back'
    )
  }
})
