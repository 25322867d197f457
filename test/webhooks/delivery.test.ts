import { pino } from 'pino'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import t from 'tap'
import { waitUntil } from '../harness/until.js'
import { receiverCa, startDelivery, startReceiver, trial } from './receivers.js'

t.setTimeout(120_000)

t.test('the library of Standard Webhooks verifies a delivery with the secret', async t => {
  const { store, owner, append } = await startDelivery(t)
  const { url, received } = await startReceiver(t)
  const { id, secret } = await store.webhooks.create({ url }, owner)
  const rolled = await store.webhooks.roll(id, owner)
  await append({ resourceId: 'p-1' })
  await waitUntil(() => received.length === 1)
  const [{ body, headers, path }] = received as [typeof received[0]]
  t.equal(path, '/hook?from=test')
  t.match(headers, { 'content-type': 'application/json', 'user-agent': 'clinigate/1.2.3' })
  for (const each of [secret, rolled.secret]) {
    const verified = new StandardWebhook(each).verify(body, headers as Record<string, string>)
    t.match(verified, {
      id: headers['webhook-id'],
      type: 'patients.created',
      data: { resourceType: 'Patient', id: 'p-1', versionId: '1' },
      requestId: 'request-1'
    })
  }
  const changed = body.replace('p-1', 'p-2')
  t.throws(() => new StandardWebhook(secret).verify(changed, headers as Record<string, string>))
  t.throws(() => new StandardWebhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(body, headers as Record<string, string>))
})

t.test('one event is one message, whatever fails, and messages are in the order of events where nothing fails', async t => {
  const { store, owner, append, waitForDeliveries } = await startDelivery(t)
  const { url, received } = await startReceiver(t)
  const { id } = await store.webhooks.create({ url }, owner)
  await append(...Array.from({ length: 250 }, (_, at) => ({ resourceId: `p-${at}` })))
  await waitUntil(() => received.length === 250)
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 250)
  t.equal((await waitForDeliveries(id, 100)).length, 100)
})

t.test('a receiver that hangs does not delay the others, and counts as failed', async t => {
  const { store, owner, append, waitForDeliveries } = await startDelivery(t)
  const hanging = await startReceiver(t, () => {})
  const prompt = await startReceiver(t)
  const slow = await store.webhooks.create({ url: hanging.url }, owner)
  await store.webhooks.create({ url: prompt.url }, owner)
  await append({})
  await waitUntil(() => hanging.received.length === 1)
  for (let at = 1; at <= 20; at++) {
    const sentAt = performance.now()
    await append({})
    await waitUntil(() => prompt.received.length === at + 1)
    t.ok(performance.now() - sentAt < 10_000, 'well before the receiver that hangs is given up')
  }
  t.ok(hanging.received.length <= 8, 'it gets no more than may fail')
  const deliveries = await waitForDeliveries(slow.id, 1)
  t.match(deliveries.at(-1), { outcome: 'failed', attempt: 1, error: /15 seconds/ })
})

t.test('redirects are not followed, errors are failures, and of a huge response 1 KB is stored', async t => {
  const { store, owner, append, waitForDeliveries } = await startDelivery(t)
  const target = await startReceiver(t)
  const cases = {
    redirect: await startReceiver(t, (_, response) => response.writeHead(307, { location: target.url }).end('moved')),
    broken: await startReceiver(t, (_, response) => response.writeHead(500).end('<b>broken</b>')),
    huge: await startReceiver(t, (_, response) => {
      response.writeHead(500).on('error', () => {})
      const writeMore = (): void => { while (!response.destroyed && response.write('x'.repeat(65_536)));response.once('drain', writeMore) }
      writeMore()
    }),
    hugeSuccess: await startReceiver(t, (_, response) => {
      response.writeHead(200).on('error', () => {})
      const writeMore = (): void => { while (!response.destroyed && response.write('x'.repeat(65_536)));response.once('drain', writeMore) }
      writeMore()
    }),
    endless: await startReceiver(t, (_, response) => response.writeHead(200).write('x'))
  }
  const ids = Object.fromEntries(await Promise.all(Object.entries(cases).map(async ([name, { url }]) =>
    [name, (await store.webhooks.create({ url }, owner)).id])))
  await append({})
  const fetchDelivery = async (name: string) => (await waitForDeliveries(ids[name]!, 1))[0]!
  t.match(await fetchDelivery('redirect'), { outcome: 'failed', responseStatus: 307, responseText: 'moved' })
  t.match(await fetchDelivery('broken'), { outcome: 'failed', responseStatus: 500, responseText: '<b>broken</b>' })
  t.equal((await fetchDelivery('huge')).responseText, 'x'.repeat(1_024))
  t.match(await fetchDelivery('hugeSuccess'), { outcome: 'delivered', responseStatus: 200, responseText: undefined })
  t.match(await fetchDelivery('endless'), { outcome: 'delivered' })
  t.equal(target.received.length, 0)
})

t.test('a receiver whose certificate is not trusted, or of another host, gets nothing', async t => {
  const { url, port, received } = await startReceiver(t)
  for (const rules of [
    { trial: { ...trial, ca: undefined as never } },
    { trial, url: `https://other.example.org:${port}/` }
  ]) {
    const { store, owner, append, waitForDeliveries } = await startDelivery(t, { trial: rules.trial })
    const { id } = await store.webhooks.create({ url: rules.url ?? url }, owner)
    await append({})
    t.match((await waitForDeliveries(id, 1))[0], { outcome: 'failed', error: /certificate/ })
  }
  t.equal(received.length, 0)
})

t.test('a name that resolves to a private address, at first or later, gets nothing', async t => {
  const { url, port, received } = await startReceiver(t)
  const addresses = [['127.0.0.1'], ['10.0.0.1'], ['93.184.216.34', '10.0.0.1']]
  let resolved = 0
  const resolve = async () => addresses[resolved++]!
  // A receiver that closes each connection makes the name be resolved again.
  const closing = await startReceiver(t, (_, response) => response.writeHead(500, { connection: 'close' }).end())
  const { store, owner, append, clock, waitForDeliveries } = await startDelivery(t, { trial: { ...trial, resolve } })
  const { id } = await store.webhooks.create({ url: closing.url }, owner)
  await append({})
  await waitForDeliveries(id, 1)
  t.equal(closing.received.length, 1)
  clock.ms += 6_000
  t.match((await waitForDeliveries(id, 2))[0], { outcome: 'failed', error: 'the host has no public address' })
  clock.ms += 400_000
  t.match((await waitForDeliveries(id, 3))[0], { outcome: 'failed', error: 'the host has no public address' })
  t.equal(closing.received.length, 1)
  const plain = await startDelivery(t, { trial: { ca: receiverCa } })
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0', '2130706433']) {
    const made = await plain.store.webhooks.create({ url: `https://${host}:${port}/` }, plain.owner)
    await plain.store.webhooks.test(made.id, plain.owner)
    t.match((await plain.waitForDeliveries(made.id, 1))[0], { outcome: 'failed', error: 'the host has no public address' }, host)
  }
  t.equal(received.length, 0)
  t.ok(url)
})

t.test('a private network that the operator lists may be reached, and no other', async t => {
  const { url, received } = await startReceiver(t)
  const rules = { privateNetworks: ['127.0.0.0/30'], trial: { ca: receiverCa, resolve: trial.resolve } }
  const { store, owner, append, waitForDeliveries } = await startDelivery(t, rules)
  const { id } = await store.webhooks.create({ url }, owner)
  await append({})
  t.match((await waitForDeliveries(id, 1))[0], { outcome: 'delivered' })
  t.equal(received.length, 1)
  const other = await store.webhooks.create({ url: 'https://127.0.0.9/' }, owner)
  await store.webhooks.test(other.id, owner)
  t.match((await waitForDeliveries(other.id, 1))[0], { outcome: 'failed', error: 'the host has no public address' })
})

t.test('Retry-After is honoured, in seconds and as a date', async t => {
  const { store, owner, append, clock, waitForDeliveries } = await startDelivery(t)
  const date = new Date(clock.ms + 7_200_000).toUTCString()
  for (const [status, header, least] of [[503, '3600', 3_600], [429, date, 7_190], [500, '60', 60], [503, 'soon', 5]] as const) {
    const { url } = await startReceiver(t, (_, response) => response.writeHead(status, { 'retry-after': header }).end())
    const { id } = await store.webhooks.create({ url }, owner)
    await append({})
    const { at, nextAttemptAt } = (await waitForDeliveries(id, 1))[0]!
    const seconds = (Date.parse(nextAttemptAt!) - Date.parse(at)) / 1_000
    t.ok(seconds >= least && seconds <= least + 60, `${header}: ${seconds}`)
  }
})

t.test('a deliverer that is closed and started again delivers every event, with the same id', async t => {
  const { store, owner, append, deliverer, begin } = await startDelivery(t)
  const held: Array<() => void> = []
  const { url, received } = await startReceiver(t, (_, response) => { held.push(() => response.writeHead(204).end()) })
  await store.webhooks.create({ url }, owner)
  await append({})
  await waitUntil(() => received.length === 1)
  await deliverer.close()
  const next = begin()
  t.teardown(() => next.close())
  await waitUntil(() => received.length === 2)
  held.forEach(respond => respond())
  t.strictSame(received[1]!.body, received[0]!.body)
  t.equal(received[1]!.headers['webhook-id'], received[0]!.headers['webhook-id'])
})

t.test('without a webhook the queue is not polled, and the first one of this process is sent to at once', async t => {
  const { store, owner, deliverer, begin } = await startDelivery(t)
  await deliverer.close()
  let looks = 0
  const queue = new Proxy(store.webhookQueue, {
    get (of, name) {
      if (name === 'claim') looks++
      const member: unknown = Reflect.get(of, name, of)
      return typeof member === 'function' ? member.bind(of) : member
    }
  })
  const idle = begin({ queue, idleMs: 3_600_000 })
  t.teardown(() => idle.close())
  await waitUntil(() => looks === 1)
  // Many times the polling interval for a queue with a webhook.
  await new Promise(resolve => setTimeout(resolve, 200))
  t.equal(looks, 1)
  const { url, received } = await startReceiver(t)
  const { id } = await store.webhooks.create({ url }, owner)
  await store.webhooks.test(id, owner)
  await waitUntil(() => received.length === 1)
})

t.test('a webhook that another process created is noticed where there was none', async t => {
  const { open, owner } = await startDelivery(t)
  const other = await open()
  const { url, received } = await startReceiver(t)
  const { id } = await other.webhooks.create({ url }, owner)
  await other.webhooks.test(id, owner)
  await waitUntil(() => received.length === 1)
})

// It was retried at once, which filled the log and let the process do nothing else.
t.test('a test event of a webhook whose secret cannot be decrypted waits, and is sent once it can be', async t => {
  const { store, owner, begin, deliverer, clock } = await startDelivery(t)
  await deliverer.close()
  const { url, received } = await startReceiver(t)
  const { id } = await store.webhooks.create({ url }, owner)
  await store.webhooks.test(id, owner)
  const lines: string[] = []
  const { webhookQueue: queue } = store
  let [looks, claims] = [0, 0]
  const withoutKey = begin({
    log: pino({}, { write: line => lines.push(line) }),
    queue: {
      hasReceivers: true,
      onReceiverCreated: () => {},
      record: (claimed, result) => queue.record(claimed, result),
      claim: async leaseMs => {
        looks++
        const claimed = await queue.claim(leaseMs)
        if (claimed !== undefined) claims++
        return claimed && { ...claimed, secrets: undefined }
      }
    }
  })
  await waitUntil(() => looks >= 20)
  t.equal(claims, 1)
  clock.ms += 10_000
  await waitUntil(() => claims === 2)
  await withoutKey.close()
  t.match(lines, [/cannot be decrypted; set webhooks\.secretFile/])
  t.equal(lines.length, 1, 'it is said once')
  t.equal(received.length, 0)
  clock.ms += 10_000
  const withKey = begin()
  t.teardown(() => withKey.close())
  await waitUntil(() => received.length === 1)
})
