import t from 'tap'
import { parseChanges } from '../../src/api/resources/changes.js'
import { ExactNumber, isOutOfRange, JsonSyntaxError, parseStrict, printJson } from '../../src/json/json.js'
import { restrict } from '../../src/tenant-guard/restrict.js'
import { tagForTenant } from '../../src/tenant-guard/writes/tag-record.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// JavaScript has no 4.10: a record that was read and sent back lost the precision of its numbers, and other parts of
// its quantities.
t.test('a record that went through JavaScript preserves its numbers', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const extension = [{ url: 'http://example.org/hidden', valueBoolean: true }]
  const toExact = (text: string) => new ExactNumber(text)
  const buildComponent = (name: string, value: string) => ({
    code: { text: name },
    valueQuantity: { value: toExact(value), unit: 'mmol/L', extension }
  })
  const storeObservation = async () => {
    const { body } = await client.send('POST', 'fhir/Observation', {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'potassium' },
      valueQuantity: { value: toExact('4.10'), unit: 'mmol/L', extension },
      referenceRange: [
        {
          low: { value: toExact('0.50'), unit: 'mmol/L', extension },
          high: { value: toExact('9007199254740993') },
          text: 'usual'
        }
      ],
      component: [buildComponent('a', '1.10'), buildComponent('b', '2.20'), buildComponent('c', '3.30')]
    })
    return body.id as string
  }
  /** As a JavaScript client reads it: its numbers rounded. */
  const read = async (id: string) => JSON.parse((await client.send('GET', `observations/${id}`)).text).data
  const patch = async (id: string, change: unknown) => {
    const response = await client.send('PATCH', `observations/${id}`, change)
    t.equal(response.status, 200, response.text)
    return response.data
  }
  const readRaw = async (id: string) => (await client.send('GET', `fhir/Observation/${id}`)).body

  await t.test('sent back whole it is the same version', async t => {
    const id = await storeObservation()
    const shown = await read(id)
    t.equal((await patch(id, shown)).versionId, shown.versionId)
    const before = await readRaw(id)
    const { meta: _, ...after } = (await patch(id, { ...shown, note: 'x' }), await readRaw(id))
    t.match(after, { note: [{ text: 'x' }] })
    t.strictSame({ ...after, note: undefined, meta: before.meta }, { ...before, note: undefined })
  })

  await t.test('a change next to a number preserves its text, in objects and in lists', async t => {
    const id = await storeObservation()
    const shown = await read(id)
    const [, b, c] = shown.component
    t.strictSame((await patch(id, { valueQuantity: { ...shown.valueQuantity, unit: 'mol' } })).valueQuantity, {
      value: toExact('4.10'),
      unit: 'mol'
    })
    await patch(id, { component: [c, { ...b, unit: 'mol' }] })
    const { component: [third, second] } = await readRaw(id)
    t.strictSame(third.valueQuantity, buildComponent('c', '3.30').valueQuantity, 'an item that only moved is as it was')
    t.strictSame(second.valueQuantity, { value: toExact('2.20'), unit: 'mol', extension })
    await patch(id, { referenceRange: [{ ...shown.referenceRange[0], text: 'normal' }] })
    t.match(await readRaw(id), {
      referenceRange: [
        { text: 'normal', low: { value: toExact('0.50'), extension }, high: { value: toExact('9007199254740993') } }
      ]
    })
  })

  await t.test('a number with a new value changes', async t => {
    const id = await storeObservation()
    t.strictSame((await patch(id, { valueQuantity: { value: toExact('4.100') } })).valueQuantity.value, toExact('4.100'))
    t.strictSame((await patch(id, { valueQuantity: { value: 4.2 } })).valueQuantity.value, 4.2)
    t.strictSame((await patch(id, { valueQuantity: { value: toExact('4.20') } })).valueQuantity.value, toExact('4.20'))
    const {
      component: [, , added]
    } = await patch(id, { component: [...(await read(id)).component.slice(1), { code: 'd', value: 1.1 }] })
    t.strictSame(added.value, 1.1, 'a new item has no precision of another')
  })
})

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }

// HAPI writes numbers without an exponent: 13 characters became a gigabyte, and every search that found the record
// failed.
t.test('a number with a huge exponent is rejected in a body, large or small', async t => {
  for (const number of ['1e-1000000000', '-1E-401', '0e-9999999999999999999', '0e1000000000', '1e+401']) {
    t.throws(
      () => parseStrict(Buffer.from(`{"value":${number}}`)),
      new JsonSyntaxError('a number is too large, too small or too long'),
      number
    )
  }
  for (const number of ['5e-324', '-1.7976931348623157e308', '2.2250738585072014E-308', '1e0005']) {
    t.equal(Number((parseStrict(Buffer.from(`{"value":${number}}`)) as { value: unknown }).value), Number(number))
  }
})

t.test('and also in a search by a number, a quantity or a composite', async t => {
  const buildSearch = (type: string, name: string, value: string) => () =>
    restrict({ type, parameters: [[name, value]], count: 1 }, tenant)
  const refused = { code: 'BAD_REQUEST', message: 'A filter has a number that is too large, too small or too long.' }
  t.throws(buildSearch('Observation', 'value-quantity', '1e-1000000000'), refused)
  t.throws(buildSearch('Observation', 'value-quantity', '5,lt-1E1000000000|http://unitsofmeasure.org|mg'), refused)
  t.throws(buildSearch('Observation', 'code-value-quantity', 'http://loinc.org|8480-6$ap.1e-1000000000'), refused)
  t.throws(buildSearch('RiskAssessment', 'probability', 'ge0e-1000000000'), refused)
  t.ok(buildSearch('Observation', 'value-quantity', 'lt5.40e-3|http://unitsofmeasure.org|10*3/uL')())
  t.ok(buildSearch('Patient', 'identifier', '1e1000000000')(), 'an identifier is no number')
})

// HAPI accepts a text, or a list of one, as the number.
t.test('a text in place of a number is rejected as well', async t => {
  const code = { text: 'x' }
  const tagObservation = (more: object) => () =>
    tagForTenant({ resourceType: 'Observation', status: 'final', code, ...more }, tenant)
  const refused = {
    code: 'VALIDATION_ERROR',
    issues: [{ diagnostics: /: expected (?:a number|a single value, not an array)$/ }]
  }
  for (const value of ['1E-20000000', ' 1e-1000000000 ', ['1e1000000000'], [['0e99999']], '0.'.padEnd(500, '0')]) {
    t.throws(tagObservation({ valueQuantity: { value } }), refused)
    t.throws(tagObservation({ extension: [{ url: 'http://example.org', valueDecimal: value }] }), refused)
    t.throws(
      tagObservation({
        hasMember: [{ reference: '#c' }],
        contained: [
          {
            resourceType: 'Observation',
            id: 'c',
            status: 'final',
            code,
            component: [{ code, valueRange: { low: { value } } }]
          }
        ]
      }),
      refused
    )
    t.throws(tagObservation({ meta: { extension: [{ url: 'http://example.org', valueDecimal: value }] } }), refused)
  }
  t.ok(
    tagObservation({ identifier: [{ system: 'urn:x', value: '12e4567' }], note: [{ text: '1e1000000000' }] })(),
    'texts of R4 stay as they are'
  )
})

// Of `(\d*)\.?(\d*)` either half may take a digit: a text of a megabyte took hours.
t.test('a long text that is nearly a number is checked at once', async t => {
  t.equal(isOutOfRange(`${'1'.repeat(1_000_000)}x`), false)
})

// A document of some megabytes in one text overflowed the stack of a regular expression.
t.test('a body with one long text is read', async t => {
  const data = 'QUJD'.repeat(4 * 1024 * 1024)
  const body = new TextEncoder().encode(`{"resourceType":"Binary","size":1.10,"data":"${data}"}`)
  const read = parseStrict(body) as { data: string }
  t.equal(read.data.length, data.length)
})

// The JSON Patch library copied a number with its text member by member, so that 1.10 became an object and was
// rejected.
t.test('a JSON Patch preserves the text of the numbers that it adds, moves, copies and does not touch', async t => {
  const read = (text: string) => parseStrict(new TextEncoder().encode(text))
  const shown = read('{"amount":{"value":2.50},"list":[{"value":1e2},{"value":3.0}]}') as Record<string, unknown>
  const printChanges = (patch: string) => printJson(parseChanges(read(patch), shown))
  t.equal(printChanges('[{"op":"replace","path":"/amount","value":{"value":1.10}}]'), '{"amount":{"value":1.10}}')
  t.equal(
    printChanges('[{"op":"add","path":"/list/-","value":{"value":0.10}}]'),
    '{"list":[{"value":1e2},{"value":3.0},{"value":0.10}]}'
  )
  t.equal(
    printChanges('[{"op":"copy","from":"/amount","path":"/list/0"},{"op":"remove","path":"/list/2"}]'),
    '{"list":[{"value":2.50},{"value":1e2}]}'
  )
  t.equal(
    printChanges('[{"op":"move","from":"/list/1/value","path":"/amount/value"}]'),
    '{"amount":{"value":3.0},"list":[{"value":1e2},{}]}'
  )
  t.equal(
    printChanges('[{"op":"test","path":"/amount/value","value":2.5},{"op":"test","path":"/list/0","value":{"value":100}}]'),
    '{}'
  )
  t.throws(() => printChanges('[{"op":"test","path":"/amount/value","value":2.6}]'), { code: 'VALIDATION_ERROR' })
  t.throws(() => printChanges('[{"op":"add","path":"/amount/value/x","value":1}]'), { code: 'VALIDATION_ERROR' })
})
