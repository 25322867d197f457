import t from 'tap'
import { isOutOfRange, JsonSyntaxError, parseStrict } from '../../src/json/json.js'
import { restrict } from '../../src/tenant-guard/restrict.js'
import { tagForTenant } from '../../src/tenant-guard/writes/stamp.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }

// HAPI writes numbers without an exponent: 13 characters became a gigabyte, and every search that met the record
// failed.
t.test('a number with a huge exponent is refused in a body, large or small', async t => {
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

t.test('and so it is in a search by a number, a quantity or a composite', async t => {
  const asks = (type: string, name: string, value: string) => () =>
    restrict({ type, parameters: [[name, value]], count: 1 }, tenant)
  const refused = { code: 'BAD_REQUEST', message: 'A filter has a number that is too large, too small or too long.' }
  t.throws(asks('Observation', 'value-quantity', '1e-1000000000'), refused)
  t.throws(asks('Observation', 'value-quantity', '5,lt-1E1000000000|http://unitsofmeasure.org|mg'), refused)
  t.throws(asks('Observation', 'code-value-quantity', 'http://loinc.org|8480-6$ap.1e-1000000000'), refused)
  t.throws(asks('RiskAssessment', 'probability', 'ge0e-1000000000'), refused)
  t.ok(asks('Observation', 'value-quantity', 'lt5.40e-3|http://unitsofmeasure.org|10*3/uL')())
  t.ok(asks('Patient', 'identifier', '1e1000000000')(), 'an identifier is no number')
})

// HAPI takes a text, or a list of one, for the number.
t.test('a text in place of a number is no way around it', async t => {
  const code = { text: 'x' }
  const stored = (more: object) => () =>
    tagForTenant({ resourceType: 'Observation', status: 'final', code, ...more }, tenant)
  const refused = {
    code: 'VALIDATION_ERROR',
    issues: [{ diagnostics: /: expected (?:a number|a single value, not an array)$/ }]
  }
  for (const value of ['1E-20000000', ' 1e-1000000000 ', ['1e1000000000'], [['0e99999']], '0.'.padEnd(500, '0')]) {
    t.throws(stored({ valueQuantity: { value } }), refused)
    t.throws(stored({ extension: [{ url: 'http://example.org', valueDecimal: value }] }), refused)
    t.throws(
      stored({
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
    t.throws(stored({ meta: { extension: [{ url: 'http://example.org', valueDecimal: value }] } }), refused)
  }
  t.ok(
    stored({ identifier: [{ system: 'urn:x', value: '12e4567' }], note: [{ text: '1e1000000000' }] })(),
    'texts of R4 stay as they are'
  )
})

// Of `(\d*)\.?(\d*)` either half may take a digit: a text of a megabyte took hours.
t.test('a long text that is nearly a number is looked at once', async t => {
  t.equal(isOutOfRange(`${'1'.repeat(1_000_000)}x`), false)
})
