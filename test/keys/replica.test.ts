import t from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Batch, Change, KeyState } from '../../src/keys/change-feed.js'
import { Replica } from '../../src/keys/replica.js'

const now = new Date('2030-01-01T00:00:00Z')

function buildKeyChange (seq: number, state: Partial<KeyState> = {}): Change {
  return {
    seq,
    kind: 'key',
    state: {
      keyId: `key-${seq}`,
      hash: `hash-${seq}`,
      tenantId: 'org-a',
      name: 'a key',
      mode: 'test',
      scopes: ['read', 'write'],
      ...state
    }
  }
}

function buildOrganizationChange (seq: number, plan = 'pro', overage = true): Change {
  return { seq, kind: 'organization', state: { tenantId: 'org-a', plan, overage } }
}

function batch (after: number, changes: Change[], rest: Partial<Batch> = {}): Batch {
  return {
    feedId: 'feed-1',
    isSnapshot: false,
    after,
    through: changes.at(-1)?.seq ?? after,
    isLatest: true,
    changes,
    ...rest
  }
}

function createFilledReplica (file = ':memory:'): Replica {
  const replica = new Replica(file)
  replica.apply(batch(0, [buildOrganizationChange(1), buildKeyChange(2)], { isSnapshot: true }), now)
  return replica
}

t.test('a key is found with the settings of its organization', async t => {
  const replica = createFilledReplica()
  replica.apply(
    batch(2, [
      buildKeyChange(3, {
        expiresAt: '2031-01-01T00:00:00.000Z',
        revokedAt: '2030-06-01T00:00:00.000Z',
        scopes: ['*'],
        mode: 'live'
      })
    ]),
    now
  )
  t.strictSame(replica.find('hash-2'), {
    hash: 'hash-2',
    caller: {
      keyId: 'key-2',
      keyName: 'a key',
      tenantId: 'org-a',
      plan: 'pro',
      overage: true,
      mode: 'test',
      scopes: ['read', 'write']
    },
    expiresAt: undefined,
    revokedAt: undefined
  })
  t.match(replica.find('hash-3'), {
    caller: { scopes: ['*'], mode: 'live' },
    expiresAt: Date.parse('2031-01-01'),
    revokedAt: Date.parse('2030-06-01')
  })
  t.equal(replica.find('hash-4'), undefined)
})

t.test('a key whose organization is unknown is not found', async t => {
  const replica = new Replica(':memory:')
  replica.apply(batch(0, [buildKeyChange(1)], { isSnapshot: true }), now)
  t.equal(replica.find('hash-1'), undefined)
})

t.test('a change of an organization reaches all its keys and lists them', async t => {
  const replica = createFilledReplica()
  replica.apply(batch(2, [buildKeyChange(3)]), now)
  t.strictSame(replica.apply(batch(3, [buildOrganizationChange(4, 'sandbox', false)]), now), new Set(['hash-2', 'hash-3']))
  t.match(replica.find('hash-2'), { caller: { plan: 'sandbox', overage: false } })
  t.notOk(Object.hasOwn(replica.find('hash-2')!.caller, 'datastore'))
  replica.apply(
    batch(4, [
      {
        seq: 5,
        kind: 'organization',
        state: { tenantId: 'org-a', plan: 'enterprise', overage: true, datastore: 'hospital-eu' }
      }
    ]),
    now
  )
  t.match(replica.find('hash-2'), { caller: { plan: 'enterprise', datastore: 'hospital-eu' } })
})

t.test('an organization has the state of the last batch, however often it is read', async t => {
  const replica = new Replica(':memory:')
  t.equal(replica.findOrganization('org-a'), undefined)
  replica.apply(batch(0, [buildOrganizationChange(1)], { isSnapshot: true }), now)
  for (let i = 0; i < 2; i++) t.strictSame(replica.findOrganization('org-a'), { plan: 'pro', overage: true })
  replica.apply(batch(1, [buildOrganizationChange(2, 'sandbox', false)]), now)
  for (let i = 0; i < 2; i++) t.strictSame(replica.findOrganization('org-a'), { plan: 'sandbox', overage: false })
  t.throws(() => replica.apply(batch(2, [buildOrganizationChange(3), buildKeyChange(4, { expiresAt: 'soon' })]), now))
  t.strictSame(
    replica.findOrganization('org-a'),
    { plan: 'sandbox', overage: false },
    'a batch that was not taken changes nothing'
  )
  replica.apply(batch(0, [], { isSnapshot: true }), now)
  t.equal(replica.findOrganization('org-a'), undefined)
})

t.test('a batch that arrives twice changes nothing but lists its keys again', async t => {
  const replica = createFilledReplica()
  const revoked = batch(2, [buildKeyChange(3, { keyId: 'key-2', hash: 'hash-2', revokedAt: '2030-01-01T00:00:00.000Z' })])
  replica.apply(revoked, now)
  t.strictSame(replica.apply(batch(1, [buildKeyChange(2)]), now), new Set(['hash-2']), 'an older batch comes late')
  t.ok(replica.find('hash-2')?.revokedAt, 'the revoked key stays revoked')
  t.strictSame(replica.apply(revoked, now), new Set(['hash-2']))
  t.same(replica.readPosition(), { feedId: 'feed-1', seq: 3 })
})

t.test('a batch after missing changes, or of another control plane, is rejected as a whole', async t => {
  const replica = createFilledReplica()
  t.throws(() => replica.apply(batch(3, [buildKeyChange(4)]), now), /cannot apply changes after 3/)
  t.throws(() => replica.apply(batch(2, [buildKeyChange(3)], { feedId: 'feed-2' }), now), /cannot apply changes/)
  t.same(replica.readPosition(), { feedId: 'feed-1', seq: 2 })
  t.equal(replica.find('hash-4'), undefined)
})

t.test('a batch with one bad change is not applied at all', async t => {
  const replica = createFilledReplica()
  t.throws(() => replica.apply(batch(2, [buildKeyChange(3), buildKeyChange(4, { expiresAt: 'soon' })]), now), /not ISO 8601/)
  t.equal(replica.find('hash-3'), undefined)
  t.same(replica.readPosition(), { feedId: 'feed-1', seq: 2 })
})

t.test('starting over forgets every key that the feed no longer has', async t => {
  const replica = createFilledReplica()
  const changed = replica.apply(batch(0, [buildOrganizationChange(1), buildKeyChange(5)], { feedId: 'feed-2', isSnapshot: true }), now)
  t.equal(changed, 'everything')
  t.equal(replica.find('hash-2'), undefined)
  t.ok(replica.find('hash-5'))
})

t.test('the copy is not complete while it is being built', async t => {
  const replica = new Replica(':memory:')
  t.equal(replica.syncedAt(), undefined)
  replica.apply(batch(0, [buildOrganizationChange(1)], { isSnapshot: true, isLatest: false }), now)
  t.equal(replica.syncedAt(), undefined)
  replica.apply(batch(1, [buildKeyChange(2)]), now)
  t.same(replica.syncedAt(), now)
  replica.apply(batch(2, [buildKeyChange(3)], { isLatest: false }), new Date('2030-01-02T00:00:00Z'))
  t.same(replica.syncedAt(), now, 'a batch that is not the last keeps the earlier time')
  replica.apply(batch(0, [], { isSnapshot: true, isLatest: false }), now)
  t.equal(replica.syncedAt(), undefined)
})

t.test(
  'the copy survives a restart, and a file that is deleted, damaged or of another layout is rebuilt',
  async t => {
    const file = join(t.testdir(), 'keys.db')
    createFilledReplica(file).close()
    const again = new Replica(file)
    t.same(again.readPosition(), { feedId: 'feed-1', seq: 2 })
    t.same(again.syncedAt(), now)
    t.ok(again.find('hash-2'))
    again.close()
    const damage: Array<() => void> = [
      () => rmSync(file),
      () => writeFileSync(file, 'this is no database, but a text that is long enough for one'),
      () => writeFileSync(file, readFileSync(file).fill(0x20, 60, 64))
    ]
    for (const harm of damage) {
      createFilledReplica(file).close()
      harm()
      const remade = new Replica(file)
      t.same(remade.readPosition(), { feedId: '', seq: 0 })
      t.equal(remade.find('hash-2'), undefined)
      remade.close()
    }
  }
)

t.test('a gateway killed while it applies batches has each batch completely or not at all', { timeout: 300_000 }, async t => {
  const file = join(t.testdir(), 'keys.db')
  const source = `
    import { Replica } from ${JSON.stringify(new URL('../../src/keys/replica.js', import.meta.url).href)}
    const replica = new Replica(${JSON.stringify(file)})
    const key = seq => ({ seq, kind: 'key', state: { keyId: 'key-' + seq, hash: 'hash-' + seq, tenantId: 'org-a', name: '', mode: 'test', scopes: ['*'] } })
    let { seq } = replica.readPosition()
    if (seq === 0) replica.apply({ feedId: 'feed-1', isSnapshot: true, after: 0, through: ++seq, isLatest: true, changes: [{ seq: 1, kind: 'organization', state: { tenantId: 'org-a', plan: 'pro', overage: true } }] }, new Date())
    for (;;) {
      const changes = Array.from({ length: 50 }, (_, i) => key(seq + 1 + i))
      replica.apply({ feedId: 'feed-1', isSnapshot: false, after: seq, through: seq += 50, isLatest: true, changes }, new Date())
      process.stdout.write('.')
    }`
  let before = 0
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    await once(child.stdout, 'data')
    await new Promise(resolve => setTimeout(resolve, 20 + 37 * round))
    child.kill('SIGKILL')
    await once(child, 'exit')
    const replica = new Replica(file)
    const { seq } = replica.readPosition()
    t.ok(seq > before && seq % 50 === 1, `round ${round} ended at ${seq}`)
    t.ok(replica.find(`hash-${seq}`) && replica.find(`hash-${seq - 49}`), 'the last batch is whole')
    t.equal(replica.find(`hash-${seq + 1}`), undefined, 'and nothing of the next one')
    replica.close()
    before = seq
  }
})
