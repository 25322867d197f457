import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { listDataFiles } from '../harness/data-files.js'
import { hashSecret } from '../../src/keys/secret.js'
import { Replica } from '../../src/keys/replica.js'
import { waitUntil } from '../harness/until.js'
import {
  forEachConcurrently, fetchKeyHealth, calculatePercentiles, startControl, startGateway, startProcess, fetchStatus
} from './processes.js'

// Building the program and starting two dozen processes takes its time.
t.setTimeout(900_000)

t.test(
  'with two gateways and one control plane a revocation takes effect on both within a second',
  { timeout: 600_000 },
  async t => {
    const control = await startControl(t)
    const gateways = await Promise.all(
      ['one', 'two'].map(name => startGateway(t, control, { CLINIGATE_GATEWAY_NAME: name }))
    )
    const keys: Array<{ readonly keyId: string; readonly secret: string }> = []
    for (let i = 0; i < 200; i++) {
      keys.push(
        await control.store.keys.create(
          { tenantId: control.tenantId, mode: 'test', name: `${i}`, scopes: ['read'] },
          'test'
        )
      )
    }
    // Each is used on each gateway before, so that it is in the caches.
    for (const gateway of gateways) {
      await waitUntil(async () => (await fetchStatus(gateway, keys.at(-1)!.secret)) === 200)
      await forEachConcurrently(keys, 4, async ({ secret }) => {
        if ((await fetchStatus(gateway, secret)) !== 200) throw new Error('a good key was refused')
      })
    }
    const times: number[] = []
    for (const { keyId, secret } of keys) {
      const clicked = performance.now()
      await control.store.keys.revoke(keyId, 'test')
      await Promise.all(gateways.map(gateway => waitUntil(async () => (await fetchStatus(gateway, secret)) === 401)))
      times.push(performance.now() - clicked)
    }
    const { median, p99 } = calculatePercentiles(times)
    t.comment(
      `200 revocations, from the call to the refusal on both gateways: median ${median.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`
    )
    t.ok(median < 5_000, 'the bound is a second on a machine that does nothing else')

    const last = keys.at(-1)!.keyId
    await waitUntil(async () =>
      (await control.store.gateways.findPropagation(last))?.gateways.every(({ isReached }) => isReached)
    )
    t.match(await control.store.gateways.list(), [
      { name: 'one', isConnected: true, changesBehind: 0, checks: { keys: 'ok' } },
      { name: 'two', isConnected: true, changesBehind: 0 }
    ])
    t.comment(
      'the control plane knew it',
      (await control.store.gateways.findPropagation(last))?.gateways
        .map(({ name, afterMs }) => `${name}: after ${afterMs} ms`)
        .join(', ')
    )
  }
)

t.test('each role reports what it is, has only what it needs, and stores no secret', { timeout: 300_000 }, async t => {
  const control = await startControl(t)
  const { secret } = await control.store.keys.create(
    { tenantId: control.tenantId, mode: 'test', name: 'a key' },
    'test'
  )
  const gateway = await startGateway(t, control)
  await waitUntil(async () => await fetchStatus(gateway, secret) === 200)

  t.match(
    control.output.out,
    /control plane.* listens on .*\nThe dashboard is at [^]*password [^]*svc_test_\w+/,
    "the operator and the demo organization are the control plane's"
  )
  t.notMatch(gateway.output.out, /svc_test|First start|dashboard/)
  t.match(gateway.output.out, /gateway.* listens on .*\n.*keys from the control plane at http:/)
  t.same(
    readdirSync(control.data).filter(file => !/^control\.(?:db|lock)|secret|^dashboard/.test(file)),
    [],
    'no datastore, no copy, no /v1'
  )
  t.notMatch(readdirSync(gateway.data).join(), /control\.db/)
  t.equal((await fetch(`${control.url}/v1/patients`, { headers: { 'x-api-key': secret } })).status, 404)
  t.equal((await fetch(`${control.url}/v1/metadata`)).status, 404)
  t.equal((await fetch(`${control.url}/docs`)).status, 404)
  t.equal((await fetch(`${control.url}/health`)).status, 200)
  t.equal(
    (
      await fetch(`${gateway.url}/control/v1/link/feed?feedId=&seq=0`, {
        headers: { authorization: `Bearer ${control.token}` }
      })
    ).status,
    404
  )

  t.equal(await gateway.end(), 0)
  t.equal(await control.end(), 0)
  for (const { data, output } of [control, gateway]) {
    for (const secretValue of [secret, control.token]) {
      t.notMatch(output.err + output.out, secretValue)
      for (const { name, bytes } of listDataFiles(data)) t.notOk(bytes.includes(secretValue), name)
    }
  }
})

t.test(
  'a gateway serves on while the control plane is dead, reports the age of its keys, and continues from its position',
  { timeout: 300_000 },
  async t => {
    const control = await startControl(t)
    const { secret, keyId } = await control.store.keys.create(
      { tenantId: control.tenantId, mode: 'test', name: 'a key' },
      'test'
    )
    const gateway = await startGateway(t, control)
    await waitUntil(async () => (await fetchStatus(gateway, secret)) === 200)

    const statuses = new Set<number>()
    const over = new AbortController()
    const requesting = (async () => {
      for (; !over.signal.aborted; await pause(20)) statuses.add(await fetchStatus(gateway, secret))
    })()
    await control.end('SIGKILL')
    await waitUntil(async () => !(await fetchKeyHealth(gateway)).isConnected)
    const { status, ageSeconds } = await fetchKeyHealth(gateway)
    t.match([status, ageSeconds], ['degraded', Number])
    await waitUntil(async () => (await fetchKeyHealth(gateway)).ageSeconds! > ageSeconds!)
    over.abort()
    await requesting
    t.same([...statuses], [200], 'nothing that was valid was refused')

    // A gateway that is started meanwhile has its old copy; a new one rejects every key.
    await gateway.end('SIGKILL')
    const restarted = await gateway.again()
    t.equal(await fetchStatus(restarted, secret), 200)
    const fresh = await startGateway(t, control)
    t.equal(await fetchStatus(fresh, secret), 503)

    await control.store.keys.revoke(keyId, 'test')
    t.equal(await fetchStatus(restarted, secret), 200, 'nobody could tell the gateway')
    await control.again()
    const back = performance.now()
    await Promise.all(
      [restarted, fresh].map(gateway => waitUntil(async () => (await fetchStatus(gateway, secret)) === 401))
    )
    t.ok(performance.now() - back < 60_000, 'sooner than the cache would have let go of it')
    await waitUntil(() => restarted.output.err.includes('the key change feed works again'))
    t.match(JSON.parse(fresh.output.err.split('\n').find(line => line.includes('key change feed failed'))!), {
      err: { message: /does not respond \(ECONNREFUSED\); check CONTROL_URL or control\.url/ }
    })
  }
)

t.test('a gateway that is killed while it applies changes has a consistent copy after its restart', { timeout: 300_000 }, async t => {
  const control = await startControl(t)
  const { store, tenantId } = control
  const made: Array<{ readonly keyId: string, readonly secret: string }> = []
  const over = new AbortController()
  // Changes stream in all the time: keys are created, and every third is revoked.
  const changing = (async () => {
    while (!over.signal.aborted) {
      const key = await store.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
      made.push(key)
      if (made.length % 3 === 0) await store.keys.revoke(key.keyId, 'test')
      await pause(0)
    }
  })()
  let gateway = await startGateway(t, control)
  for (let round = 0; round < 6; round++) {
    await pause(Math.random() * 400)
    await gateway.end('SIGKILL')
    // After a kill the copy is that of some moment: each of its keys with an organization, and none valid that was
    // revoked before it.
    const replica = new Replica(join(gateway.data, 'keys.db'))
    const { seq } = replica.readPosition()
    const held = made.filter(({ secret }) => replica.find(hashSecret(secret)) !== undefined).length
    replica.close()
    t.ok(held <= seq, `round ${round}: ${held} keys at change ${seq}`)
    gateway = await gateway.again()
  }
  over.abort()
  await changing
  const { through } = await store.listChangesAfter({ feedId: '', seq: 0 }, 1_000_000)
  await waitUntil(async () => (await store.gateways.list()).some(({ changesBehind }) => changesBehind === 0))
  await gateway.end('SIGKILL')

  const replica = new Replica(join(gateway.data, 'keys.db'))
  t.after(() => replica.close())
  t.equal(replica.readPosition().seq, through)
  const all = await store.keys.list(tenantId)
  t.equal(all.length, made.length)
  const wrong = made.filter(({ keyId, secret }) => {
    const found = replica.find(hashSecret(secret))
    const truth = all.find(key => key.keyId === keyId)!
    return found?.caller.keyId !== keyId || found.revokedAt !== (truth.revokedAt && Date.parse(truth.revokedAt))
  })
  t.same(wrong, [], `each of ${made.length} keys is as the control plane has it`)
})

t.test(
  'a gateway that stood still for longer than the maximum silence does not take old messages for new ones',
  { timeout: 300_000 },
  async t => {
    const control = await startControl(t)
    const { secret, keyId } = await control.store.keys.create(
      { tenantId: control.tenantId, mode: 'test', name: 'a key' },
      'test'
    )
    const gateway = await startGateway(t, control)
    await waitUntil(async () => (await fetchStatus(gateway, secret)) === 200)
    gateway.child.kill('SIGSTOP')
    await pause(17_000)
    await control.end('SIGKILL')
    await control.store.keys.revoke(keyId, 'test')
    gateway.child.kill('SIGCONT')
    const { ageSeconds } = await fetchKeyHealth(gateway)
    t.ok(ageSeconds! >= 15, `heartbeats that lay in the connection count from when they were sent: ${ageSeconds} s`)
    await control.again()
    await waitUntil(async () => (await fetchStatus(gateway, secret)) === 401)
  }
)

t.test('a mistyped role stops the start with the valid roles', async t => {
  await t.rejects(
    startProcess(t, { CLINIGATE_ROLE: 'gatway' }),
    /CLINIGATE_ROLE: must be one of all, gateway, control/
  )
})
