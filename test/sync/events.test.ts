import t, { type Test } from 'tap'
import { openEvents } from '../../src/bootstrap/events.js'
import { Disposables } from '../../src/bootstrap/parts.js'
import { loadConfig } from '../../src/config/load.js'
import { createRemoteLink } from '../../src/control-plane/sync/remote.js'
import { startFaultProxy } from '../chaos/fault-proxy.js'
import { waitUntil } from '../harness/until.js'
import { createMemoryLog, startControlPlane, createTemporaryDirectory } from './control-plane.js'

/** A gateway's event log and a control plane, with a link that the test cuts and a clock that it sets. */
async function startLinked (t: Test) {
  const clock = { ms: Date.now() }
  const { url, control, token, tenantId } = await startControlPlane(t, {}, () => new Date(clock.ms))
  const proxy = await startFaultProxy(() => url)
  t.teardown(() => proxy.close())
  const link = createRemoteLink({ url: proxy.origin, token })
  t.teardown(() => link.close())
  const closers = new Disposables()
  t.teardown(() => closers.close())
  const { log } = createMemoryLog()
  const config = loadConfig({ CLINIGATE_DATA: createTemporaryDirectory(t) })
  const events = await openEvents(config, { link, now: () => new Date(clock.ms), log }, closers)
  const recorder = events.recorderOf({ owner: { tenantId, mode: 'live', plan: 'pro' }, requestId: 'request-1' })
  const change = async (id: string) => {
    const begun = await recorder.begin([{ kind: 'created', type: 'Patient' }])
    await begun.made([{ kind: 'created', type: 'Patient', id, version: '1' }])
  }
  const listResourceIds = async () => (await control.events.list({ organizationId: tenantId, mode: 'live', limit: 1_000 }))
    .map(({ resourceId }) => resourceId)
  return { clock, proxy, events, change, listResourceIds }
}

t.test('while the link is cut changes are made, and each has its event once when it is restored', async t => {
  const { proxy, events, change, listResourceIds } = await startLinked(t)
  const expected: string[] = []
  // The last two are the worst: the control plane has the batch, and the gateway has no receipt.
  for (const fault of ['reset before', '503', 'html as a success', 'half answers', 'reset after']) {
    proxy.set(fault)
    const failures = events.check().failedSendings
    for (let at = 0; at < 5; at++) {
      expected.push(`${fault.replaceAll(' ', '-')}-${at}`)
      await change(expected.at(-1)!)
    }
    await waitUntil(() => events.check().failedSendings > failures)
    proxy.set('none')
    await waitUntil(async () => (await listResourceIds()).length >= expected.length)
    await waitUntil(() => events.check().failedSendings === 0)
    t.strictSame(await listResourceIds(), expected, fault)
  }
})

t.test('a clock that goes back, for a second or a month, loses no event and changes no order', async t => {
  const { clock, change, listResourceIds } = await startLinked(t)
  const expected: string[] = []
  for (const back of [0, 1_000, 3_600_000, 30 * 24 * 3_600_000]) {
    clock.ms -= back
    for (let at = 0; at < 5; at++) {
      expected.push(`${back}-${at}`)
      await change(expected.at(-1)!)
    }
    await waitUntil(async () => (await listResourceIds()).length === expected.length)
    t.strictSame(await listResourceIds(), expected, `${back} ms`)
  }
})
