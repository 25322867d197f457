/** The guarantees of the control store, tested on the given database. */
import type { Test } from 'tap'
import type { Change, Position } from '../../src/keys/change-feed.js'
import { hashSecret, readSecret } from '../../src/keys/secret.js'
import type { Scope } from '../../src/keys/caller.js'
import type { Mode } from '../../src/config/mode.js'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import type { MakeDatabase } from './databases.js'

const start = Date.parse('2030-01-01T00:00:00Z')
const hourMs = 3_600_000
const nothing: Position = { feedId: '', seq: 0 }

/** Opens stores whose clock the test sets. */
function createStoreOpeners (makeDatabase: MakeDatabase) {
  const openStore = async (t: Test) => {
    let passed = 0
    const store = await openControlStore({
      ...(await makeDatabase(t)),
      plans: ['sandbox', 'pro'],
      now: () => new Date(start + passed)
    })
    t.teardown(() => store.close())
    return { store, pass: (ms: number) => { passed += ms } }
  }
  const withKey = async (t: Test, draft: { mode?: Mode, scopes?: Scope[], expiresAt?: Date } = {}) => {
    const { store, pass } = await openStore(t)
    const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    const made = await store.keys.create({ tenantId, mode: 'live', name: 'app', ...draft }, 'ann')
    return { store, pass, tenantId, ...made }
  }
  return { openStore, withKey }
}

async function readStates (store: ControlStore): Promise<Map<string, Change['state']>> {
  const { changes } = await store.listChangesAfter(nothing, 1_000)
  return new Map(changes.map(({ kind, state }) => [kind === 'key' ? state.keyId : state.tenantId, state]))
}

/** Runs the whole contract. */
export async function testControlStore (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  const { openStore, withKey } = createStoreOpeners(makeDatabase)

  await t.test(
    'an organization has an unguessable tenant id that is fit for a FHIR tag, and overage unless it is off',
    async t => {
      const { store } = await openStore(t)
      const one = await store.organizations.create({ name: '  Clinic  ', plan: 'pro' }, 'ann')
      const other = await store.organizations.create({ name: 'Clinic', plan: 'sandbox', overage: false }, 'ann')
      t.match(one.tenantId, /^org-[a-z2-7]{26}$/)
      t.not(one.tenantId, other.tenantId)
      t.strictSame(
        await store.organizations.list(),
        [one, other].sort((a, b) => (a.tenantId < b.tenantId ? -1 : 1))
      )
      t.match(one, { name: 'Clinic', plan: 'pro', overage: true, createdAt: '2030-01-01T00:00:00.000Z' })
      t.equal(other.overage, false)
      t.strictSame(await store.organizations.find(other.tenantId), other)
    }
  )

  await t.test(
    'a create that is sent twice, also concurrently, creates one thing; the second is rejected and writes nothing',
    async t => {
      const { store } = await openStore(t)
      const [first, second] = [createIdempotencyToken(), createIdempotencyToken()]
      const refused = { name: 'ControlError', reason: 'conflict' }
      const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro', once: first }, 'ann')
      const other = await store.organizations.create({ name: 'Clinic', plan: 'pro', once: second }, 'ann')
      const creates = [first, second].flatMap((once): Array<() => Promise<unknown>> => [
        () => store.keys.create({ tenantId, mode: 'live', name: 'app', once }, 'ann'),
        () => store.keys.create({ tenantId: other.tenantId, mode: 'live', name: 'app', once }, 'ann'),
        () => store.tokens.create({ tenantId, name: 'program', role: 'viewer', once }, 'ann'),
        () => store.invitations.create({ tenantId, email: 'bob@example.org', role: 'viewer', once }, 'ann')
      ])
      for (const request of creates) {
        const results = await Promise.allSettled([request(), request()])
        t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
        const written = await store.listAuditEntries({ limit: 100 })
        await t.rejects(request(), refused)
        t.same(await store.listAuditEntries({ limit: 100 }), written)
      }
      await t.rejects(store.organizations.create({ name: 'Another', plan: 'pro', once: first }, 'ann'), refused)
      await t.rejects(store.organizations.create({ name: 'Clinic', plan: 'pro', once: 'short' }, 'ann'), {
        name: 'ControlError',
        reason: 'invalid'
      })
      t.equal((await store.keys.list(tenantId)).length, 2)
      t.equal((await store.organizations.list()).length, 2)
    }
  )

  await t.test(
    'the active keys of each organization are counted: neither revoked nor expired ones',
    async t => {
      const { store, pass, tenantId, keyId } = await withKey(t)
      await store.keys.create(
        { tenantId, mode: 'test', name: 'until soon', expiresAt: new Date(start + hourMs) },
        'ann'
      )
      t.same(await store.keys.countActive(), new Map([[tenantId, 2]]))
      pass(hourMs)
      t.same(await store.keys.countActive(), new Map([[tenantId, 1]]))
      await store.keys.revoke(keyId, 'ann')
      t.same(await store.keys.countActive(), new Map())
    }
  )

  await t.test(
    'an unknown plan, an invisible name and an unknown tenant are rejected and nothing is written',
    async t => {
      const { store } = await openStore(t)
      await t.rejects(store.organizations.create({ name: 'x', plan: 'gold' }, 'ann'), {
        name: 'ControlError',
        reason: 'invalid',
        message: /sandbox, pro/
      })
      for (const name of ['', '   ', 'a\nb', 'a\u202eb', 'x'.repeat(201)]) {
        await t.rejects(store.organizations.create({ name, plan: 'pro' }, 'ann'), {
          name: 'ControlError',
          reason: 'invalid'
        })
      }
      await t.rejects(store.organizations.find('org-x'), { name: 'ControlError', reason: 'missing' })
      await t.rejects(store.organizations.change('org-x', {}, 'ann'), { name: 'ControlError', reason: 'missing' })
      await t.rejects(store.keys.create({ tenantId: 'org-x', mode: 'test', name: 'x' }, 'ann'), {
        name: 'ControlError',
        reason: 'missing'
      })
      await t.rejects(store.keys.list('org-x'), { name: 'ControlError', reason: 'missing' })
      for (const request of [() => store.keys.revoke('key-x', 'ann'), () => store.keys.roll('key-x', 0, 'ann')]) {
        await t.rejects(request as () => Promise<unknown>, { name: 'ControlError', reason: 'missing' })
      }
      t.same((await store.listChangesAfter(nothing, 10)).changes, [])
    }
  )

  await t.test('members that a change of an organization omits stay unchanged', async t => {
    const { store } = await openStore(t)
    const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro', overage: false }, 'ann')
    t.match(await store.organizations.change(tenantId, { plan: 'sandbox', name: undefined }, 'bob'), {
      name: 'Clinic',
      plan: 'sandbox',
      overage: false
    })
    t.strictSame((await readStates(store)).get(tenantId), { tenantId, plan: 'sandbox', overage: false })
  })

  await t.test('a key has all scopes unless it is created with others, and its lifetime is never set by accident', async t => {
    const { store, tenantId, keyId, secret } = await withKey(t)
    t.same(readSecret(secret), { mode: 'live' })
    const [key] = await store.keys.list(tenantId)
    t.match(key, {
      keyId,
      name: 'app',
      mode: 'live',
      scopes: ['*'],
      hint: secret.slice(-4),
      createdBy: 'ann',
      expiresAt: undefined,
      revokedAt: undefined
    })
    t.notOk(JSON.stringify(key).includes(hashSecret(secret)))
    const make = (draft: object) => store.keys.create({ tenantId, mode: 'test', name: 'app', ...draft }, 'ann')
    await make({ scopes: ['write', 'read', 'read'], expiresAt: new Date(start + hourMs) })
    t.match(
      (await store.keys.list(tenantId)).find(key => key.mode === 'test'),
      { scopes: ['read', 'write'], expiresAt: '2030-01-01T01:00:00.000Z' }
    )
    for (const draft of [
      { scopes: [] },
      { scopes: ['admin'] },
      { expiresAt: new Date(start) },
      { expiresAt: new Date(NaN) },
      { mode: 'prod' },
      { name: '' }
    ]) {
      await t.rejects(make(draft), { name: 'ControlError', reason: 'invalid' })
    }
  })

  await t.test('a revoked key stays revoked, at the time of the first revocation', async t => {
    const { store, pass, keyId } = await withKey(t)
    const first = await store.keys.revoke(keyId, 'ann')
    pass(hourMs)
    t.strictSame(await store.keys.revoke(keyId, 'bob'), first)
    t.equal((await store.listAuditEntries({ entity: keyId, limit: 10 })).length, 2, 'the second request changed nothing')
    await t.rejects(store.keys.roll(keyId, hourMs, 'ann'), {
      name: 'ControlError',
      reason: 'conflict',
      message: /revoked/
    })
    await t.rejects(store.keys.change(keyId, { expiresAt: new Date(start + 9 * hourMs) }, 'ann'), {
      name: 'ControlError',
      reason: 'conflict'
    })
  })

  await t.test('a rolled key stays valid for the overlap, and its successor has the same settings', async t => {
    const { store, tenantId, keyId } = await withKey(t, { scopes: ['read'] })
    const { previous, ...successor } = await store.keys.roll(keyId, hourMs, 'ann')
    t.match(previous, {
      keyId,
      expiresAt: '2030-01-01T01:00:00.000Z',
      successor: successor.keyId,
      revokedAt: undefined
    })
    t.match((await readStates(store)).get(keyId), { expiresAt: '2030-01-01T01:00:00.000Z' })
    t.match(
      (await store.keys.list(tenantId)).find(key => key.keyId === successor.keyId),
      { name: 'app', mode: 'live', scopes: ['read'], expiresAt: undefined }
    )
    t.same(readSecret(successor.secret), { mode: 'live' })
    await t.rejects(store.keys.roll(keyId, hourMs, 'ann'), {
      name: 'ControlError',
      reason: 'conflict',
      message: /already rolled/
    })
  })

  await t.test('an overlap never makes a key last longer than before, and none ends it at once', async t => {
    const { store, keyId, pass } = await withKey(t, { expiresAt: new Date(start + 3 * hourMs) })
    pass(hourMs)
    const { previous, ...successor } = await store.keys.roll(keyId, 24 * hourMs, 'ann')
    t.equal(previous.expiresAt, '2030-01-01T03:00:00.000Z')
    t.equal(
      successor.expiresAt,
      '2030-01-01T04:00:00.000Z',
      'a key that was made for three hours is followed by one for three hours'
    )
    const ended = await store.keys.roll(successor.keyId, 0, 'ann')
    t.equal(ended.previous.revokedAt, '2030-01-01T01:00:00.000Z')
    for (const overlap of [-1, NaN]) {
      await t.rejects(store.keys.roll(ended.keyId, overlap, 'ann'), { name: 'ControlError', reason: 'invalid' })
    }
  })

  await t.test('the expiry of a key can be set while it is valid, and nothing makes it valid again afterwards', async t => {
    const { store, keyId, pass } = await withKey(t)
    t.equal(
      (await store.keys.change(keyId, { expiresAt: new Date(start + hourMs) }, 'ann')).expiresAt,
      '2030-01-01T01:00:00.000Z'
    )
    await t.rejects(store.keys.change(keyId, { expiresAt: new Date(start) }, 'ann'), {
      name: 'ControlError',
      reason: 'invalid'
    })
    pass(hourMs)
    for (const request of [
      () => store.keys.change(keyId, { expiresAt: new Date(start + 9 * hourMs) }, 'ann'),
      () => store.keys.roll(keyId, hourMs, 'ann')
    ]) {
      await t.rejects(request as () => Promise<unknown>, {
        name: 'ControlError',
        reason: 'conflict',
        message: /expired/
      })
    }
  })

  await t.test('every change has a line in the audit trail with actor, time and change, and no secret', async t => {
    const { store, tenantId, keyId, pass, secret } = await withKey(t)
    pass(hourMs)
    await store.organizations.change(tenantId, { overage: false }, 'bob')
    const { keyId: successor } = await store.keys.roll(keyId, hourMs, 'bob')
    await store.keys.revoke(keyId, 'cleo')
    t.match(
      await store.listAuditEntries({ entity: tenantId, limit: 10 }),
      [
        { at: '2030-01-01T01:00:00.000Z', actor: 'bob', action: 'organization changed', detail: { overage: false } },
        {
          at: '2030-01-01T00:00:00.000Z',
          actor: 'ann',
          action: 'organization created',
          detail: { name: 'Clinic', plan: 'pro' }
        }
      ],
      'the newest first'
    )
    t.match(await store.listAuditEntries({ tenantId, limit: 2 }), [
      { action: 'key revoked', tenantId },
      { action: 'key rolled', tenantId }
    ])
    const trail = await store.listAuditEntries({ entity: keyId, limit: 10 })
    t.match(trail, [
      { actor: 'cleo', action: 'key revoked' },
      { actor: 'bob', action: 'key rolled', detail: { successor } },
      { action: 'key created' }
    ])
    t.notOk([secret.slice(9, 30), hashSecret(secret)].some(text => JSON.stringify(trail).includes(text)))
  })

  await t.test('a copy gets each organization and key once, in its current state, in the order of the changes', async t => {
    const { store, tenantId, keyId } = await withKey(t)
    const { keyId: other } = await store.keys.create({ tenantId, mode: 'test', name: 'b' }, 'ann')
    await store.keys.revoke(keyId, 'ann')
    const batch = await store.listChangesAfter(nothing, 10)
    t.match(batch, { isSnapshot: true, after: 0, through: 4, isLatest: true })
    t.same(
      batch.changes.map(({ seq, state }) => [seq, 'keyId' in state ? state.keyId : state.tenantId]),
      [
        [1, tenantId],
        [3, other],
        [4, keyId]
      ]
    )
    t.match(batch.changes[2]?.state, { revokedAt: '2030-01-01T00:00:00.000Z' })
    t.match(await store.listChangesAfter({ feedId: batch.feedId, seq: 3 }, 10), {
      isSnapshot: false,
      after: 3,
      through: 4,
      changes: [{ seq: 4 }]
    })
    t.match(await store.listChangesAfter({ feedId: batch.feedId, seq: 4 }, 10), {
      after: 4,
      through: 4,
      isLatest: true,
      changes: []
    })
  })

  await t.test('a long history comes in batches that follow each other without a gap', async t => {
    const { store, tenantId } = await withKey(t)
    for (let i = 0; i < 10; i++) await store.keys.create({ tenantId, mode: 'test', name: `${i}` }, 'ann')
    let position = nothing
    const sizes: number[] = []
    for (let isLatest = false; !isLatest;) {
      const batch = await store.listChangesAfter(position, 5)
      t.equal(batch.after, position.seq)
      sizes.push(batch.changes.length)
      position = { feedId: batch.feedId, seq: batch.through }
      isLatest = batch.isLatest
    }
    t.same([sizes, position.seq], [[5, 5, 2], 12])
  })

  await t.test('a copy of another store, or ahead of a restored one, starts over', async t => {
    const { store } = await withKey(t)
    const { feedId } = await store.listChangesAfter(nothing, 10)
    for (const position of [{ feedId: 'another', seq: 1 }, { feedId, seq: 3 }]) {
      t.match(await store.listChangesAfter(position, 10), { isSnapshot: true, after: 0, changes: { length: 2 } })
    }
  })
}
