import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// JavaScript knows no 4.10: a record that was read and sent back lost the precision of its numbers, and what else its
// quantities held.
t.test('a record that went through JavaScript keeps its numbers', async t => {
  const client = await clientOf(await startGateway(t))
  const extension = [{ url: 'http://example.org/hidden', valueBoolean: true }]
  const exact = (text: string) => new ExactNumber(text)
  const component = (name: string, value: string) => ({
    code: { text: name },
    valueQuantity: { value: exact(value), unit: 'mmol/L', extension }
  })
  const stored = async () => {
    const { body } = await client.send('POST', 'fhir/Observation', {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'potassium' },
      valueQuantity: { value: exact('4.10'), unit: 'mmol/L', extension },
      referenceRange: [
        {
          low: { value: exact('0.50'), unit: 'mmol/L', extension },
          high: { value: exact('9007199254740993') },
          text: 'usual'
        }
      ],
      component: [component('a', '1.10'), component('b', '2.20'), component('c', '3.30')]
    })
    return body.id as string
  }
  /** As a JavaScript client has it: its numbers rounded. */
  const read = async (id: string) => JSON.parse((await client.send('GET', `observations/${id}`)).text).data
  const patched = async (id: string, change: unknown) => {
    const answer = await client.send('PATCH', `observations/${id}`, change)
    t.equal(answer.status, 200, answer.text)
    return answer.data
  }
  const raw = async (id: string) => (await client.send('GET', `fhir/Observation/${id}`)).body

  await t.test('sent back whole it is the same version', async t => {
    const id = await stored()
    const shown = await read(id)
    t.equal((await patched(id, shown)).versionId, shown.versionId)
    const before = await raw(id)
    const { meta: _, ...after } = (await patched(id, { ...shown, note: 'x' }), await raw(id))
    t.match(after, { note: [{ text: 'x' }] })
    t.strictSame({ ...after, note: undefined, meta: before.meta }, { ...before, note: undefined })
  })

  await t.test('a change beside a number leaves its text, in objects and in lists', async t => {
    const id = await stored()
    const shown = await read(id)
    const [, b, c] = shown.component
    t.strictSame((await patched(id, { valueQuantity: { ...shown.valueQuantity, unit: 'mol' } })).valueQuantity, {
      value: exact('4.10'),
      unit: 'mol'
    })
    await patched(id, { component: [c, { ...b, unit: 'mol' }] })
    const { component: [third, second] } = await raw(id)
    t.strictSame(third.valueQuantity, component('c', '3.30').valueQuantity, 'an item that only moved is as it was')
    t.strictSame(second.valueQuantity, { value: exact('2.20'), unit: 'mol', extension })
    await patched(id, { referenceRange: [{ ...shown.referenceRange[0], text: 'normal' }] })
    t.match(await raw(id), {
      referenceRange: [
        { text: 'normal', low: { value: exact('0.50'), extension }, high: { value: exact('9007199254740993') } }
      ]
    })
  })

  await t.test('a number that is meant to change does', async t => {
    const id = await stored()
    t.strictSame((await patched(id, { valueQuantity: { value: exact('4.100') } })).valueQuantity.value, exact('4.100'))
    t.strictSame((await patched(id, { valueQuantity: { value: 4.2 } })).valueQuantity.value, 4.2)
    t.strictSame((await patched(id, { valueQuantity: { value: exact('4.20') } })).valueQuantity.value, exact('4.20'))
    const {
      component: [, , added]
    } = await patched(id, { component: [...(await read(id)).component.slice(1), { code: 'd', value: 1.1 }] })
    t.strictSame(added.value, 1.1, 'a new item has no precision of another')
  })
})
