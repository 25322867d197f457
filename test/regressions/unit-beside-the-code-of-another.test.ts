import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { changesOf } from '../../src/api/resources/changes.js'

const kilograms = { value: 70.5, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' }

// A merge left the code of the old unit beside the new unit, so that 155 lb were 155 kg to whoever read the code.
test('a quantity whose unit or code changes does not keep the other one of the old unit', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const sent = async (method: string, path: string, body: unknown): Promise<any> => {
    const response = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return (await response.json() as any).data
  }
  const { id: patientId } = await sent('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const changedBy = async (valueQuantity: unknown): Promise<unknown> => {
    const { id } = await sent('POST', 'observations', { patientId, code: 'weight', valueQuantity: kilograms })
    return (await sent('PATCH', `observations/${id}`, { valueQuantity })).valueQuantity
  }
  t.strictSame(await changedBy({ value: 155, unit: 'lb' }), { value: 155, unit: 'lb' })
  t.strictSame(await changedBy({ value: 155, code: '[lb_av]' }), {
    value: 155,
    system: kilograms.system,
    code: '[lb_av]'
  })
  t.strictSame(await changedBy({ value: 155, unit: 'lb', code: '[lb_av]' }), {
    value: 155,
    unit: 'lb',
    system: kilograms.system,
    code: '[lb_av]'
  })
})

test('a quantity keeps its unit and code where neither becomes another', t => {
  const changed = (before: object, change: object): unknown => changesOf({ field: change }, { field: before }).field
  t.strictSame(changed(kilograms, { value: 71 }), { ...kilograms, value: 71 })
  t.strictSame(changed(kilograms, { unit: 'kilogram', code: 'kg' }), { ...kilograms, unit: 'kilogram' })
  t.strictSame(changed(kilograms, { code: null, system: null }), { value: 70.5, unit: 'kg' })
  t.strictSame(changed(kilograms, { unit: null }), { value: 70.5, system: kilograms.system, code: 'kg' })
  t.strictSame(changed({ value: 1, unit: 'kg' }, { code: 'kg', system: 'u' }), {
    value: 1,
    unit: 'kg',
    code: 'kg',
    system: 'u'
  })
  t.strictSame(changed({ low: kilograms }, { low: { value: 1, unit: 'lb' } }), { low: { value: 1, unit: 'lb' } })
  t.end()
})
