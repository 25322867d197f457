import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { makeDatabasesOn } from '../control-store/databases.js'
import { startPostgres } from '../harness/postgres.js'
import { waitUntil } from '../harness/until.js'
import { startDelivery, startReceiver, trial } from './receivers.js'

t.setTimeout(240_000)

const kills = 3
const perRound = 50

t.test('however often PostgreSQL is killed during deliveries, each event is delivered, always with the same id and body', async t => {
  const server = await startPostgres(t)
  const { store, owner, append, clock } = await startDelivery(t, { trial }, makeDatabasesOn(server))
  const { url, received } = await startReceiver(t, (_, response) => {
    setTimeout(() => response.writeHead(204).end(), 5)
  })
  await store.webhooks.create({ url }, owner)
  for (let round = 0; round <= kills; round++) {
    await append(...Array.from({ length: perRound }, (_, at) => ({ resourceId: `p-${round}-${at}` })))
    if (round === kills) break
    const before = received.length
    await waitUntil(() => received.length > before + 3)
    await server.kill()
    // Its processes may still be ending, and then it does not start.
    await waitUntil(() => server.start().then(() => true, () => pause(100)))
    await waitUntil(() => store.events.getLatestSequence().then(() => true, () => false))
    // The lease of the turn that could not be recorded expires by itself; the test does not wait for that.
    clock.ms += 60_000
  }
  const bodies = new Map<string, string>()
  const collectIds = () => new Set(received.map(({ headers }) => headers['webhook-id']))
  await waitUntil(() => collectIds().size === (kills + 1) * perRound)
  for (const { headers, body } of received) {
    const id = String(headers['webhook-id'])
    t.equal(bodies.get(id) ?? body, body)
    bodies.set(id, body)
  }
})
