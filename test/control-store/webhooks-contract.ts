/** The guarantees of the control store for webhooks and their queue, tested on the given database. */
import type { Test } from 'tap'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import type { ChangeEvent } from '../../src/events/event.js'
import type { Attempt, ClaimedWebhook, DueEvent } from '../../src/events/webhooks/delivery-queue.js'
import { maxAttempts, maxPauseMs } from '../../src/events/webhooks/retry-schedule.js'
import { maxWebhooks, type WebhookOwner } from '../../src/events/webhooks/webhook.js'
import { createSecretSealer } from '../../src/control-plane/store/webhook-secrets.js'
import type { AddressRules } from '../../src/net/checked-connection.js'
import type { MakeDatabase } from './databases.js'

const leaseMs = 60_000
const hourMs = 3_600_000

/** A store with two organizations, a clock that the test sets, and a function that appends events. */
export async function openWebhookStore (t: Test, makeDatabase: MakeDatabase, receiverRules: AddressRules = {}) {
  const where = await makeDatabase(t)
  const clock = { ms: Date.parse('2030-01-01T00:00:00Z') }
  const open = async (webhookKey = Buffer.alloc(32, 1)) => {
    const store = await openControlStore({
      ...where, plans: ['pro'], now: () => new Date(clock.ms), webhookKey, receiverRules
    })
    t.teardown(() => store.close())
    return store
  }
  const store = await open()
  const make = (name: string) => store.organizations.create({ name, plan: 'pro' }, 'test')
  const [{ tenantId }, { tenantId: otherTenant }] = [await make('A'), await make('B')]
  const owner: WebhookOwner = { tenantId, mode: 'live', by: 'key:a' }
  let number = 0
  const append = (...events: ReadonlyArray<Partial<ChangeEvent>>) =>
    store.events.append({
      ledgerId: 'log',
      number: ++number,
      batchId: `log-${number}`,
      lines: events.map((event, at) => ({
        id: `evt_${String(number * 1_000 + at).padStart(26, '0')}`,
        tenantId,
        mode: 'live',
        type: 'patients.created',
        createdAt: new Date(clock.ms).toISOString(),
        resourceType: 'Patient',
        resourceId: 'p1',
        versionId: '1',
        requestId: 'request-1',
        ...event
      }))
    }, 'one')
  return { where, store, open, clock, owner, otherTenant, append }
}

const draft = { url: 'https://files.example.org/hook' }

/** An attempt as a deliverer reports it. */
const buildAttempt = (event: DueEvent, rest: Partial<Attempt> = {}): Attempt =>
  ({ event, at: event.createdAt, durationMs: 1, outcome: 'delivered', responseStatus: 200, ...rest })

/** Ends a turn in which every event had the same outcome. */
const settle = (store: ControlStore, claimed: ClaimedWebhook, rest: Partial<Attempt> = {}) =>
  store.webhookQueue.record(claimed, {
    attempts: [...claimed.retries, ...claimed.fresh].map(event => buildAttempt(event, rest)),
    position: claimed.through
  })

const failed = { outcome: 'failed', responseStatus: 500, responseText: 'broken' } as const

/** Runs the whole contract. */
export async function testWebhooks (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  await t.test('a webhook is shown without its secret, which is stored encrypted', async t => {
    const { store, owner } = await openWebhookStore(t, makeDatabase)
    const { secret, ...made } = await store.webhooks.create({ ...draft, types: ['patients.*'] }, owner)
    t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    t.match(made, { url: draft.url, types: ['patients.*'], enabled: true, mode: 'live' })
    t.strictSame(await store.webhooks.list(owner), [made])
    t.strictSame(await store.webhooks.find(made.id, owner), made)
    const trail = JSON.stringify(await store.listAuditEntries({ limit: 10 }))
    t.match(trail, /webhook created/)
    t.notMatch(trail, /whsec_|files\.example/, 'neither secret nor URL is in the audit trail')
  })

  await t.test('a webhook of another organization or mode is missing in every call', async t => {
    const { store, owner, otherTenant } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    for (const foreign of [{ ...owner, tenantId: otherTenant }, { ...owner, mode: 'test' as const }]) {
      t.strictSame(await store.webhooks.list(foreign), [])
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => store.webhooks.find(id, foreign),
        () => store.webhooks.change(id, foreign, { enabled: false }),
        () => store.webhooks.remove(id, foreign),
        () => store.webhooks.roll(id, foreign),
        () => store.webhooks.test(id, foreign),
        () => store.webhooks.deliveries(id, foreign, { count: 1 }),
        () => store.webhooks.resend(id, foreign, '2020-01-01T00:00:00Z')
      ]
      for (const call of calls) await t.rejects(call(), { name: 'ControlError', reason: 'missing' } as object as Error)
    }
    t.equal((await store.webhooks.find(id, owner)).enabled, true)
  })

  await t.test('a URL that is not https is rejected, and so is one webhook too many', async t => {
    const { store, owner } = await openWebhookStore(t, makeDatabase)
    for (const url of ['http://a.example', 'https://u:p@a.example', 'https://a.example/#x', 'x', 'ftp://a.example']) {
      await t.rejects(store.webhooks.create({ url }, owner), { reason: 'invalid', field: 'url' } as object as Error, url)
    }
    for (let at = 0; at < maxWebhooks; at++) await store.webhooks.create(draft, owner)
    await t.rejects(store.webhooks.create(draft, owner), { reason: 'conflict' } as object as Error)
    await store.webhooks.create(draft, { ...owner, mode: 'test' })
  })

  await t.test('a queue knows whether there is any webhook to send to, whichever process created it', async t => {
    const { store, open, owner } = await openWebhookStore(t, makeDatabase)
    const other = await open()
    let heard = 0
    store.webhookQueue.onReceiverCreated(() => { heard++ })
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.notOk(store.webhookQueue.hasReceivers)
    const { id } = await other.webhooks.create(draft, owner)
    t.equal(heard, 0, 'another process is not heard')
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.ok(store.webhookQueue.hasReceivers)
    await store.webhooks.remove(id, owner)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.notOk(store.webhookQueue.hasReceivers)
    await store.webhooks.create(draft, owner)
    t.equal(heard, 1)
  })

  await t.test('a webhook receives the events of its organization, mode and types from its creation on, in their order', async t => {
    const { store, owner, otherTenant, append } = await openWebhookStore(t, makeDatabase)
    await append({})
    const { id } = await store.webhooks.create({ ...draft, types: ['patients.*', 'labs.deleted', 'fhir.Basic.*'] }, owner)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    await append(
      { resourceId: 'a' },
      { tenantId: otherTenant, resourceId: 'foreign' },
      { mode: 'test', resourceId: 'foreign' },
      { type: 'labs.created', resourceId: 'unwanted' },
      { type: 'labs.deleted', resourceId: 'b' },
      { type: 'fhir.Basic.updated', resourceType: 'Basic', resourceId: 'c', versionId: undefined }
    )
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.match(claimed, { tenantId: owner.tenantId, mode: 'live', lease: { webhookId: id }, retries: [] })
    t.strictSame(claimed.fresh.map(({ body }) => JSON.parse(body).data), [
      { resourceType: 'Patient', id: 'a', versionId: '1' },
      { resourceType: 'Patient', id: 'b', versionId: '1' },
      { resourceType: 'Basic', id: 'c' }
    ])
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'one process delivers at a time')
    await settle(store, claimed)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'nothing is left')
    const { deliveries } = await store.webhooks.deliveries(id, owner, { count: 2 })
    t.match(deliveries, [{ outcome: 'delivered', attempt: 1, responseStatus: 200 }, {}])
    const rest = await store.webhooks.deliveries(id, owner, { count: 2, before: deliveries[1]!.id })
    t.match(rest, { deliveries: { length: 1 }, hasMore: false })
  })

  await t.test('when a process dies, another one delivers the same events with the same ids after its lease', async t => {
    const { where, store, open, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    await store.webhooks.create(draft, owner)
    await append({}, {})
    const lost = (await store.webhookQueue.claim(leaseMs))!
    clock.ms += leaseMs
    // On SQLite a second store in this thread would wait for the first without letting it work.
    const other = where.url === undefined ? store : await open()
    const claimed = (await other.webhookQueue.claim(leaseMs))!
    t.strictSame(claimed.fresh, lost.fresh)
    await settle(store, lost, failed)
    await settle(other, claimed)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'what came of the lost lease changes nothing')
  })

  await t.test('a failing event is retried by the schedule, and after the last failure its webhook is disabled', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({ resourceId: 'a' })
    const pauses: number[] = []
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const claimed = (await store.webhookQueue.claim(leaseMs))!
      const [event] = [...claimed.fresh, ...claimed.retries]
      t.match(event, { attempt }, `attempt ${attempt}`)
      await settle(store, claimed, { ...failed, at: new Date(clock.ms).toISOString() })
      const [latest] = (await store.webhooks.deliveries(id, owner, { count: 1 })).deliveries
      t.match(latest, { attempt, outcome: 'failed', responseStatus: 500, responseText: 'broken' })
      if (attempt === maxAttempts) break
      const next = Date.parse(latest!.nextAttemptAt!)
      pauses.push((next - clock.ms) / 1_000)
      clock.ms = next - 1
      t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'not before its time')
      clock.ms = next
    }
    const schedule = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
    t.ok(pauses.every((pause, at) => pause >= schedule[at]! && pause <= schedule[at]! * 1.1), String(pauses))
    const { enabled, disabledReason } = await store.webhooks.find(id, owner)
    t.match({ enabled, disabledReason }, { enabled: false, disabledReason: /8 attempts/ })
    await append({ resourceId: 'b' })
    clock.ms += 30 * 24 * hourMs
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'a month later nothing was sent')
    await store.webhooks.change(id, owner, { enabled: true })
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.match([claimed.retries, claimed.fresh], [[{ attempt: 1 }], [{ attempt: 1 }]], 'nothing that it missed is lost')
  })

  await t.test('events that fail delay others only when there are many of them', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    await store.webhooks.create(draft, owner)
    for (let at = 0; at < 8; at++) {
      await append({})
      const claimed = (await store.webhookQueue.claim(leaseMs))!
      t.equal(claimed.fresh.length, 1)
      t.equal(claimed.maxFailures, 8 - at)
      await settle(store, claimed, failed)
    }
    await append({})
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'the ninth waits')
    clock.ms += 10_000
    const due = (await store.webhookQueue.claim(leaseMs))!
    t.match(due, { retries: { length: 8 }, fresh: { length: 0 } })
    await store.webhookQueue.record(due, {
      attempts: due.retries.map((event, at) => buildAttempt(event, at === 0 ? {} : failed)), position: due.position
    })
    const back = (await store.webhookQueue.claim(leaseMs))!
    t.match(back, { retries: { length: 7 }, fresh: { length: 1 } }, 'one success restarts the others')
  })

  await t.test('the oldest waiting event is known, except those of a disabled webhook', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    t.equal(await store.webhookQueue.findOldestEventTime(), undefined)
    const { id } = await store.webhooks.create(draft, owner)
    await append({ createdAt: '2030-01-01T00:00:01.000Z' })
    t.equal(await store.webhookQueue.findOldestEventTime(), '2030-01-01T00:00:01.000Z')
    await settle(store, (await store.webhookQueue.claim(leaseMs))!, failed)
    t.equal(await store.webhookQueue.findOldestEventTime(), '2030-01-01T00:00:01.000Z', 'one that failed waits too')
    clock.ms += 10_000
    await settle(store, (await store.webhookQueue.claim(leaseMs))!)
    t.equal(await store.webhookQueue.findOldestEventTime(), undefined)
    await append({})
    await store.webhooks.change(id, owner, { enabled: false })
    t.equal(await store.webhookQueue.findOldestEventTime(), undefined)
  })

  await t.test('410 disables a webhook at once', async t => {
    const { store, owner, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({})
    await settle(store, (await store.webhookQueue.claim(leaseMs))!, { outcome: 'failed', responseStatus: 410 })
    t.match(await store.webhooks.find(id, owner), { enabled: false, disabledReason: /410/ })
  })

  await t.test('a receiver that requests a pause gets only tests until its end', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({})
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    await store.webhookQueue.record(claimed, {
      attempts: [buildAttempt(claimed.fresh[0]!, { ...failed, responseStatus: 429, retryAfterMs: hourMs })],
      position: claimed.through,
      restMs: hourMs
    })
    await append({})
    clock.ms += hourMs - 1
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    const { eventId } = await store.webhooks.test(id, owner)
    const test = (await store.webhookQueue.claim(leaseMs))!
    t.match(test, { retries: [{ id: eventId, type: 'webhook.test' }], fresh: { length: 0 } })
    await settle(store, test)
    clock.ms += 1
    t.match(await store.webhookQueue.claim(leaseMs), { retries: { length: 1 }, fresh: { length: 1 } })
  })

  await t.test('a test is sent once, to a disabled webhook too, and is not retried when it fails', async t => {
    const { store, owner, clock } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create({ ...draft, enabled: false }, owner)
    const { eventId } = await store.webhooks.test(id, owner)
    await t.rejects(store.webhooks.test(id, owner), { reason: 'conflict' } as object as Error)
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.match(claimed.retries, [{ id: eventId, type: 'webhook.test', attempt: 1 }])
    await settle(store, claimed, failed)
    clock.ms += 24 * hourMs
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
    t.match((await store.webhooks.deliveries(id, owner, { count: 5 })).deliveries, [{ eventId, outcome: 'failed' }])
    t.equal((await store.webhooks.find(id, owner)).disabledReason, undefined)
  })

  await t.test('a clock that was set back by a month stops no delivery', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    await store.webhooks.create(draft, owner)
    await append({})
    await settle(store, (await store.webhookQueue.claim(leaseMs))!, failed)
    await append({})
    await store.webhookQueue.claim(leaseMs)
    clock.ms -= 30 * 24 * hourMs
    t.equal(await store.webhookQueue.claim(leaseMs), undefined, 'the process that has it may be at work')
    clock.ms += leaseMs
    t.match(await store.webhookQueue.claim(leaseMs), { retries: { length: 1 }, fresh: { length: 1 } })
    t.ok(maxPauseMs < 30 * 24 * hourMs)
  })

  await t.test('after a roll both secrets sign for a day, then the new one alone', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id, secret } = await store.webhooks.create(draft, owner)
    const rolled = await store.webhooks.roll(id, owner)
    t.equal(rolled.previousSecretUntil, '2030-01-02T00:00:00.000Z')
    await append({})
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    t.strictSame(claimed.secrets, [rolled.secret, secret])
    clock.ms += 24 * hourMs
    t.strictSame((await store.webhookQueue.claim(leaseMs))!.secrets, [rolled.secret])
    t.equal((await store.webhooks.find(id, owner)).previousSecretUntil, undefined)
  })

  await t.test('events since a time are sent again with the same ids', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({ resourceId: 'a' })
    clock.ms += hourMs
    await append({ resourceId: 'b' }, { resourceId: 'c' })
    const first = (await store.webhookQueue.claim(leaseMs))!
    await settle(store, first)
    t.strictSame(await store.webhooks.resend(id, owner, '2030-01-01T01:30:00+00:30'), { events: 2 })
    const again = (await store.webhookQueue.claim(leaseMs))!
    t.strictSame(again.fresh, first.fresh.slice(1))
    await store.webhooks.resend(id, owner, '2030-01-01T00:00:00Z')
    await settle(store, again)
    t.strictSame((await store.webhookQueue.claim(leaseMs))!.fresh, first.fresh, 'a turn that was under way does not undo it')
  })

  await t.test('a deleted webhook is gone with its deliveries, whatever a turn under way reports', async t => {
    const { store, owner, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({})
    const claimed = (await store.webhookQueue.claim(leaseMs))!
    await store.webhooks.remove(id, owner)
    await settle(store, claimed, failed)
    await t.rejects(store.webhooks.find(id, owner), { reason: 'missing' } as object as Error)
    t.equal(await store.webhookQueue.claim(leaseMs), undefined)
  })

  await t.test('deliveries are deleted with their age, and an event that is gone is not sent again', async t => {
    const { store, owner, clock, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({})
    await settle(store, (await store.webhookQueue.claim(leaseMs))!, failed)
    clock.ms += 24 * hourMs
    await store.webhooks.deleteBefore(new Date(clock.ms))
    await store.events.deleteBefore(new Date(clock.ms))
    t.strictSame((await store.webhooks.deliveries(id, owner, { count: 5 })).deliveries, [])
    t.match(await store.webhookQueue.claim(leaseMs), { retries: { length: 0 }, fresh: { length: 0 } })
  })

  await t.test('a process with another key can read no secret, and the secret of one webhook cannot be used for another', async t => {
    const { where, store, open, owner, append } = await openWebhookStore(t, makeDatabase)
    const { id } = await store.webhooks.create(draft, owner)
    await append({})
    if (where.url === undefined) await store.close()
    const other = await open(Buffer.alloc(32, 2))
    t.match(await other.webhookQueue.claim(leaseMs), { lease: { webhookId: id }, secrets: undefined })
    const sealer = createSecretSealer(Buffer.alloc(32, 1))
    t.equal(sealer.open(sealer.seal('whsec_x', id), id), 'whsec_x')
    t.equal(sealer.open(sealer.seal('whsec_x', id), 'whk_other'), undefined)
  })
}
