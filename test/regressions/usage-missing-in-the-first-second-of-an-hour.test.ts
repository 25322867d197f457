import t from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'

t.test('what was used in the first second of an hour is told at once', async t => {
  const store = await openControlStore({
    file: ':memory:',
    plans: ['pro'],
    now: () => new Date('2030-01-16T12:00:00Z')
  })
  t.teardown(() => store.close())
  const line = {
    tenantId: 'org-a',
    mode: 'live',
    keyId: 'key-a',
    hour: '2030-01-16T12:00:00Z',
    resource: 'patients',
    interaction: 'read',
    outcome: 'ok',
    isCounted: true,
    isOverage: false,
    count: 7,
    lastAt: '2030-01-16T12:00:00.000Z'
  } as const
  await store.usage.apply({ ledgerId: 'ledger-a', number: 1, batchId: 'batch-1', lines: [line] }, 'one')
  const requests = async (to: string) =>
    (await store.usage.totals({ tenantId: 'org-a', from: new Date('2030-01-16T00:00:00Z'), to: new Date(to) }))
      .totals[0]!.requests
  t.equal(await requests('2030-01-16T12:00:00.001Z'), 7)
  t.equal(await requests('2030-01-16T12:00:00.000Z'), 0, 'the end itself is left out')
})
