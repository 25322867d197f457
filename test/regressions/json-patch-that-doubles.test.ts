import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'

t.test(
  'a JSON Patch that copies a value into itself again and again is refused before it fills the memory',
  async t => {
    const doubling = Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '/list', path: `/list/${at}` }))
    t.throws(() => applyPatch(doubling, { list: ['a value'] }), { code: 'VALIDATION_ERROR' })
  }
)

t.test('copies of a sane size are made', async t => {
  const copies = Array.from({ length: 500 }, (_, at) => ({ op: 'copy', from: '/one', path: `/list/${at}` }))
  t.equal((applyPatch(copies, { one: 'x'.repeat(1_000), list: [] }) as { list: string[] }).list.length, 500)
})
