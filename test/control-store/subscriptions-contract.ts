/** The guarantees of the control store for topic-based subscriptions, tested on the given database. */
import type { Test } from 'tap'
import type { ControlStore } from '../../src/control-plane/store/store.js'
import type { Attempt, ClaimedWebhook } from '../../src/events/webhooks/delivery-queue.js'
import { maxSubscriptions, type SubscriptionDraft } from '../../src/events/subscriptions/subscription.js'
import type { MakeDatabase } from './databases.js'
import { openWebhookStore } from './webhooks-contract.js'

const leaseMs = 60_000

const draft: SubscriptionDraft = {
  type: 'Patient',
  fhirBase: 'https://gateway.example.org/v1/fhir',
  endpoint: 'https://files.example.org/hook',
  content: 'id-only',
  headers: ['Authorization: Bearer sesame'],
  reason: 'a test',
  status: 'requested'
}

/** Ends a turn in which every delivery had the same outcome. */
const settle = (store: ControlStore, claimed: ClaimedWebhook, rest: Partial<Attempt> = {}) =>
  store.webhookQueue.record(claimed, {
    attempts: [...claimed.retries, ...claimed.fresh].map(event =>
      ({ event, at: event.createdAt, durationMs: 1, outcome: 'delivered', responseStatus: 200, ...rest })),
    position: claimed.through
  })

const failed = { outcome: 'failed', responseStatus: 500 } as const

/** The numbers and ids of the events in a turn. */
const listEventNumbers = ({ retries, fresh }: ClaimedWebhook) => [...retries, ...fresh].map(({ number, body }) => {
  const [{ resource }] = JSON.parse(body).entry
  const part = resource.parameter.find(({ name }: { name: string }) => name === 'notification-event')?.part
  return [number, part?.[0].valueString, part?.[2]?.valueReference.reference.split('/').at(-1)]
})

/** Runs the whole contract. */
export async function testSubscriptions (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  await t.test('a subscription is active after its handshake, and gets the events of its topic, numbered from its creation', async t => {
    const { store, owner, append } = await openWebhookStore(t, makeDatabase)
    await append({ resourceId: 'before' })
    const made = await store.subscriptions.create(draft, owner)
    t.match(made, { status: 'requested', version: 1, eventCount: 0, headers: ['Authorization: *****'] })
    t.match(made.id, /^sub-[a-z2-7]{26}$/)
    await append({ resourceId: 'a' }, { type: 'labs.created', resourceType: 'Observation' }, { resourceId: 'b', type: 'patients.deleted' })
    const handshake = (await store.webhookQueue.claim(leaseMs))!
    t.match(handshake, {
      fresh: { length: 0 }, retries: [{ type: 'subscription.handshake' }], channel: { headers: { Authorization: 'Bearer sesame' } }
    })
    t.equal((await store.subscriptions.find(made.id, owner)).eventCount, 2, 'those that wait are counted')
    await settle(store, handshake)
    t.match(await store.subscriptions.find(made.id, owner), { status: 'active', error: undefined })
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.strictSame(listEventNumbers(claimed), [[1, '1', 'a'], [2, '2', 'b']])
    await settle(store, claimed)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.equal((await store.subscriptions.find(made.id, owner)).eventCount, 2)
    const listed = await store.subscriptions.events(made.id, owner, {})
    t.strictSame(listed.map(({ number, event }) => [number, event.resourceId]), [[1, 'a'], [2, 'b']])
    const trail = JSON.stringify(await store.listAuditEntries({ limit: 10 }))
    t.match(trail, /subscription created/)
    t.notMatch(trail, /sesame|files\.example/, 'neither headers nor endpoint are in the audit trail')
  })

  await t.test('the number of an event is the same in each attempt, and in $events before and after it was sent', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.subscriptions.create(draft, owner)
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    await append({ resourceId: 'a' }, { resourceId: 'b' }, { resourceId: 'c' })
    const listEvents = async (range = {}) =>
      (await store.subscriptions.events(id, owner, range)).map(({ number, event }) => [number, event.resourceId])
    const all = [[1, 'a'], [2, 'b'], [3, 'c']]
    t.strictSame(await listEvents(), all)
    const first = (await store.webhookQueue.claim(leaseMs))!
    // The second one is cut, so that it is new again.
    await store.webhookQueue.record(first, {
      attempts: [{ event: first.fresh[0]!, at: first.fresh[0]!.createdAt, durationMs: 1, ...failed }],
      position: first.fresh[0]!.sequence
    })
    t.strictSame(await listEvents(), all)
    t.strictSame(await listEvents({ since: 2 }), all.slice(1))
    t.strictSame(await listEvents({ since: 2, until: 2 }), all.slice(1, 2))
    t.strictSame(await listEvents({ since: 4 }), [])
    t.strictSame(await listEvents({ since: 0, until: 0 }), [])
    clock.ms += 10_000
    const second = (await store.webhookQueue.claim(leaseMs))!
    t.strictSame(listEventNumbers(second), [[1, '1', 'a'], [2, '2', 'b'], [3, '3', 'c']])
    t.equal(second.retries[0]!.body, first.fresh[0]!.body)
    await settle(store, second)
    t.strictSame(await listEvents(), all)
    t.equal((await store.subscriptions.find(id, owner)).eventCount, 3)
    clock.ms += 24 * 3_600_000
    await append({ resourceId: 'd' })
    await store.events.deleteBefore(new Date(clock.ms))
    t.strictSame(await listEvents(), [[4, 'd']], 'numbers stay when old events are deleted')
  })

  await t.test('a handshake that fails ends a subscription with an error; an update starts it again, and nothing is lost', async t => {
    const { store, owner, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.subscriptions.create(draft, owner)
    await settle(store, (await store.webhookQueue.claim(leaseMs))!, failed)
    t.match(await store.subscriptions.find(id, owner), { status: 'error', error: 'The handshake failed: the receiver responded with status 500.' })
    await append({ resourceId: 'a' })
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.match(await store.subscriptions.replace(id, owner, { draft, version: 1 }), { status: 'requested', version: 2, error: undefined })
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    t.strictSame(listEventNumbers((await store.webhookQueue.claim(leaseMs))!), [[1, '1', 'a']])
  })

  await t.test('an update that does not change the channel needs no handshake; another endpoint or header does', async t => {
    const { store, owner } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.subscriptions.create(draft, owner)
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    const masked: SubscriptionDraft = { ...draft, headers: ['Authorization: *****'], status: 'active', reason: 'another' }
    t.match(await store.subscriptions.replace(id, owner, { draft: masked, version: 0 }), { status: 'active', reason: 'another', version: 2 })
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    const elsewhere = { endpoint: 'https://other.example.org/' }
    for (const change of [{ ...elsewhere, headers: draft.headers }, { headers: ['Authorization: Bearer other'] }]) {
      t.match(await store.subscriptions.replace(id, owner, { draft: { ...masked, ...change }, version: 0 }), { status: 'requested' })
      const claimed = (await store.webhookQueue.claim(leaseMs))!
      t.match(claimed.retries, [{ type: 'subscription.handshake' }])
      await settle(store, claimed)
    }
    t.match(await store.subscriptions.replace(id, owner, { draft: { ...masked, status: 'off' }, version: 0 }), { status: 'off' })
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    await t.rejects(store.subscriptions.replace(id, owner, { draft: masked, version: 1 }), { reason: 'conflict' } as object as Error)
    await t.rejects(store.subscriptions.replace(id, owner, { draft: { ...masked, type: 'Observation' }, version: 0 }), { field: 'criteria' } as object as Error)
    await t.rejects(
      store.subscriptions.replace(id, owner, { draft: { ...masked, headers: ['X-Other: *****'] }, version: 0 }), { field: 'channel.header[0]' } as object as Error
    )
    await t.rejects(
      store.subscriptions.replace(id, owner, { draft: { ...masked, ...elsewhere }, version: 0 }), { field: 'channel.header[0]' } as object as Error,
      'a hidden header is not handed to another server'
    )
  })

  await t.test('a heartbeat is sent when there was no notification for its period, and counts as no event', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.subscriptions.create({ ...draft, heartbeatSeconds: 60 }, owner)
    clock.ms += 100_000
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    clock.ms += 59_999
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    await append({})
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    clock.ms += 59_999
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'an event is a sign of life too')
    clock.ms += 1
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.match(claimed.retries, [{ type: 'subscription.heartbeat', sequence: 0 }])
    t.match(JSON.parse(claimed.retries[0]!.body).entry[0].resource.parameter.slice(2), [
      { name: 'status', valueCode: 'active' },
      { name: 'type', valueCode: 'heartbeat' },
      { name: 'events-since-subscription-start', valueString: '1' }
    ])
    await settle(store, claimed, failed)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'one that failed is not sent again')
    t.match(await store.subscriptions.find(id, owner), { status: 'active', eventCount: 1 })
    clock.ms -= 30 * 24 * 3_600_000
    t.match((await store.webhookQueue.claim(leaseMs))?.retries, [{ type: 'subscription.heartbeat' }], 'the clock was set back')
  })

  await t.test('a subscription ends at its end time, and is off from then on', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const end = new Date(clock.ms + 1_000).toISOString()
    const { id } = await store.subscriptions.create({ ...draft, end }, owner)
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    clock.ms += 1_000
    await append({})
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.match(await store.subscriptions.find(id, owner), { status: 'off', end })
    await t.rejects(store.subscriptions.create({ ...draft, end }, owner), { field: 'end' } as object as Error)
  })

  await t.test('a subscription of another organization or mode is missing in every call, and is no webhook', async t => {
    const { store, owner, otherTenant } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.subscriptions.create(draft, owner)
    for (const foreign of [{ ...owner, tenantId: otherTenant }, { ...owner, mode: 'test' as const }]) {
      t.strictSame(await store.subscriptions.list(foreign), [])
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => store.subscriptions.find(id, foreign),
        () => store.subscriptions.replace(id, foreign, { draft, version: 0 }),
        () => store.subscriptions.remove(id, foreign),
        () => store.subscriptions.events(id, foreign, {})
      ]
      for (const call of calls) await t.rejects(call(), { name: 'ControlError', reason: 'missing' } as object as Error)
    }
    t.strictSame(await store.webhooks.list(owner), [])
    const asWebhook: ReadonlyArray<() => Promise<unknown>> = [
      () => store.webhooks.find(id, owner),
      () => store.webhooks.change(id, owner, { url: 'https://evil.example.org/' }),
      () => store.webhooks.remove(id, owner),
      () => store.webhooks.roll(id, owner),
      () => store.webhooks.deliveries(id, owner, { count: 1 })
    ]
    for (const call of asWebhook) await t.rejects(call(), { reason: 'missing' } as object as Error)
    t.equal(await store.webhooks.locate(id), undefined)
    const webhook = await store.webhooks.create({ url: draft.endpoint }, owner)
    await t.rejects(store.subscriptions.find(webhook.id, owner), { reason: 'missing' } as object as Error)
    t.equal((await store.subscriptions.list(owner)).length, 1)
    await store.subscriptions.remove(id, owner)
    t.strictSame(await store.subscriptions.list(owner), [])
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
  })

  await t.test('a URL that is not https is rejected, and so is one subscription too many', async t => {
    const { store, owner } = await openWebhookStore(t, makeDatabase)
    for (const endpoint of ['http://a.example', 'https://u:p@a.example', 'https://a.example/#x', 'x']) {
      await t.rejects(store.subscriptions.create({ ...draft, endpoint }, owner), { field: 'channel.endpoint' } as object as Error)
    }
    for (let at = 0; at < maxSubscriptions; at++) await store.subscriptions.create(draft, owner)
    await t.rejects(store.subscriptions.create(draft, owner), { reason: 'conflict' } as object as Error)
    await store.subscriptions.create(draft, { ...owner, mode: 'test' })
  })
}
