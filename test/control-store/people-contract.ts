/**
 * The guarantees of the control plane for people, their sessions, tokens and gateways, tested on the given database.
 */
import type { Test } from 'tap'
import { createControlService } from '../../src/control-plane/store/control-service.js'
import { toActor } from '../../src/control-plane/store/members.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { toTokenActor } from '../../src/control-plane/store/token-store.js'
import '../harness/quick-passwords.js'
import type { MakeDatabase } from './databases.js'

const start = Date.parse('2030-01-01T00:00:00Z')
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const password = 'a long enough password'

function createStoreOpener (makeDatabase: MakeDatabase) {
  return async (t: Test) => {
    let passed = 0
    const control = await openControlStore({
      ...(await makeDatabase(t)),
      plans: ['sandbox', 'pro'],
      now: () => new Date(start + passed)
    })
    t.teardown(() => control.close())
    const { tenantId } = await control.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
    const join = async (email: string, role: 'admin' | 'viewer' = 'admin', tenant = tenantId) => {
      const { token } = await control.invitations.create({ tenantId: tenant, email, role }, 'test')
      return control.invitations.accept(token, { name: 'A person', password })
    }
    return { control, tenantId, join, pass: (ms: number) => { passed += ms } }
  }
}

/** Runs the whole contract. */
export async function testPeople (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  const openStore = createStoreOpener(makeDatabase)

  await t.test(
    'the first start creates one operator, whose password must be changed, and no later start does',
    async t => {
      const { control } = await openStore(t)
      const made = await Promise.all([
        control.members.createFirstOperator('op@example.org', 'first start'),
        control.members.createFirstOperator('op@example.org', 'first start')
      ])
      const [first] = made.filter(one => one !== undefined)
      t.equal(made.filter(one => one !== undefined).length, 1, 'two processes that start together make one')
      t.equal(await control.members.createFirstOperator('other@example.org', 'second start'), undefined)
      const [operator] = await control.members.findByPassword('OP@example.org ', first!.password)
      t.match(operator, { role: 'operator', mustChangePassword: true, email: 'op@example.org' })
      t.notOk(Object.hasOwn(operator!, 'tenantId'))
      t.same(await control.members.findByPassword('op@example.org', password), [])
      t.same(await control.members.findByPassword('nobody@example.org', first!.password), [])
      await t.rejects(control.members.changePassword(operator!.memberId, { current: password, requested: password }), {
        name: 'ControlError',
        reason: 'invalid'
      })
      await t.rejects(
        control.members.changePassword(operator!.memberId, { current: first!.password, requested: 'short' }),
        { name: 'ControlError', reason: 'invalid' }
      )
      await control.members.changePassword(operator!.memberId, { current: first!.password, requested: password })
      t.match(await control.members.findByPassword('op@example.org', password), [{ mustChangePassword: false }])
      await t.rejects(
        control.members.remove(operator!.memberId, 'test'),
        { name: 'ControlError', reason: 'conflict' },
        'the last operator stays'
      )
    }
  )

  await t.test('an invitation is valid once, for one person, for a week', async t => {
    const { control, tenantId, pass } = await openStore(t)
    const { token, invitationId } = await control.invitations.create(
      { tenantId, email: 'Ann@Example.org', role: 'viewer' },
      'test'
    )
    t.match(await control.invitations.findByToken(token), { invitationId, email: 'ann@example.org', role: 'viewer' })
    const duplicate = await control.invitations.create({ tenantId, email: 'ann@example.org', role: 'admin' }, 'test')
    t.equal(await control.invitations.findByToken(invitationId), undefined)
    await t.rejects(control.invitations.accept(token, { name: 'Ann', password: 'short' }), {
      name: 'ControlError',
      reason: 'invalid'
    })
    const [one, two] = await Promise.allSettled(
      [1, 2].map(() => control.invitations.accept(token, { name: 'Ann', password }))
    )
    t.same([one!.status, two!.status].sort(), ['fulfilled', 'rejected'])
    t.match(await control.members.list(tenantId), [
      { email: 'ann@example.org', name: 'Ann', role: 'viewer', mustChangePassword: false }
    ])
    const conflict = { name: 'ControlError', reason: 'conflict' }
    await t.rejects(
      control.invitations.accept(duplicate.token, { name: 'Ann', password }),
      conflict,
      'not by another invitation either'
    )
    await t.rejects(
      control.invitations.create({ tenantId, email: 'ann@example.org', role: 'admin' }, 'test'),
      conflict,
      'a member is not invited'
    )
    await control.invitations.withdraw(duplicate.invitationId, 'test')
    const expired = await control.invitations.create({ tenantId, email: 'bob@example.org', role: 'admin' }, 'test')
    const back = await control.invitations.create({ tenantId, email: 'cleo@example.org', role: 'admin' }, 'test')
    await control.invitations.withdraw(back.invitationId, 'test')
    t.same((await control.invitations.list(tenantId)).map(({ email }) => email), ['bob@example.org'])
    pass(7 * dayMs)
    t.same(await control.invitations.list(tenantId), [])
    for (const gone of [expired.token, back.token]) {
      await t.rejects(control.invitations.accept(gone, { name: 'x', password }), {
        name: 'ControlError',
        reason: 'missing'
      })
    }
  })

  await t.test('one person may belong to several organizations, each with a password of its own', async t => {
    const { control, tenantId, join } = await openStore(t)
    const { tenantId: other } = await control.organizations.create({ name: 'Other', plan: 'pro' }, 'test')
    const here = await join('ann@example.org')
    const there = await join('ann@example.org', 'viewer', other)
    const matches = await control.members.findByPassword('ann@example.org', password)
    t.same(matches.map(({ memberId }) => memberId).sort(), [here.memberId, there.memberId].sort())
    t.match(await control.members.findByPassword('ann@example.org', password, [there.memberId]), {
      length: 1,
      0: { memberId: there.memberId }
    })
    const device = await control.members.createDeviceToken([there.memberId])
    t.match(await control.members.findDevice('ann@example.org', device), {
      name: device.slice(0, 22),
      memberIds: [there.memberId]
    })
    t.equal(await control.members.findDevice('bob@example.org', device), undefined)
    await control.members.changePassword(there.memberId, { current: password, requested: 'another long password' })
    t.match(await control.members.findByPassword('ann@example.org', password), [{ memberId: here.memberId, tenantId }])
    t.equal(
      await control.members.findDevice('ann@example.org', device),
      undefined,
      'with the password ends what a browser is known by'
    )
    const still = await Promise.all(matches.map(one => control.members.findOpened(one)))
    t.match(still.filter(one => one !== undefined), { length: 1, 0: { memberId: here.memberId } }, 'and what it opened')
  })

  await t.test(
    "a session ends when it expires, at a sign-out, and with every change of its member's rights",
    async t => {
      const { control, join, pass } = await openStore(t)
      const { memberId } = await join('ann@example.org')
      const save = (id: string) =>
        control.sessions.save(id, { memberId, content: { id }, expiresAt: new Date(start + dayMs) })
      await save('session-a')
      await save('session-b')
      t.match(await control.sessions.find('session-a'), { memberId, content: { id: 'session-a' } })
      t.match(await control.sessions.listByMember(memberId), { length: 2 })
      t.notMatch(JSON.stringify(await control.sessions.listByMember(memberId)), 'session-a', 'a list opens none')
      await control.sessions.end('session-a')
      t.equal(await control.sessions.find('session-a'), undefined)
      t.equal(
        await control.sessions.touch('session-a', new Date(start + 2 * dayMs)),
        false,
        'one that has ended does not come back'
      )
      for (const change of [
        () => control.members.changeRole(memberId, 'viewer', 'test'),
        () => control.members.resetPassword(memberId, 'test'),
        () => control.sessions.endByMember(memberId)
      ]) {
        await save('session-b')
        await change()
        t.equal(await control.sessions.find('session-b'), undefined)
      }
      await save('session-c')
      pass(dayMs)
      t.equal(await control.sessions.find('session-c'), undefined)
      await control.sessions.sweep()
      await control.sessions.save('session-d', { memberId, content: {}, expiresAt: new Date(start + 2 * dayMs) })
      await control.members.remove(memberId, 'test')
      t.equal(await control.sessions.find('session-d'), undefined)
    }
  )

  await t.test('a member from an identity provider is created once, follows its claims, and has no password', async t => {
    const { control, tenantId } = await openStore(t)
    const identity = {
      issuer: 'https://login.example.org',
      subject: 'ann',
      email: 'Ann@example.org',
      name: 'Ann',
      role: 'viewer',
      tenantId
    } as const
    const made = await control.members.upsertFromProvider(identity)
    t.match(made, { email: 'ann@example.org', role: 'viewer', tenantId, isFromProvider: true })
    await control.sessions.save('session-a', {
      memberId: made.memberId,
      content: {},
      expiresAt: new Date(start + dayMs)
    })
    t.same((await control.members.upsertFromProvider(identity)).memberId, made.memberId)
    t.ok(await control.sessions.find('session-a'))
    t.match(await control.members.upsertFromProvider({ ...identity, role: 'admin' }), {
      memberId: made.memberId,
      role: 'admin'
    })
    t.equal(await control.sessions.find('session-a'), undefined, 'another role ends what was open')
    await t.rejects(control.members.upsertFromProvider({ ...identity, subject: 'bob', tenantId: 'org-nothing' }), {
      name: 'ControlError',
      reason: 'missing'
    })
    await t.rejects(
      control.members.upsertFromProvider({ ...identity, subject: 'bob', tenantId: undefined }),
      { name: 'ControlError', reason: 'invalid' },
      'only operators belong to no organization'
    )
    await t.rejects(control.members.resetPassword(made.memberId, 'test'), { name: 'ControlError', reason: 'conflict' })
    await t.rejects(control.members.changeRole(made.memberId, 'viewer', 'test'), {
      name: 'ControlError',
      reason: 'conflict'
    })
    t.same(await control.members.findByPassword('ann@example.org', ''), [])
  })

  await t.test(
    "a token is found by its secret until it is revoked or expires, and a gateway's token has no actor",
    async t => {
      const { control, tenantId, pass } = await openStore(t)
      const { secret, tokenId, ...tokenInfo } = await control.tokens.create(
        { role: 'admin', tenantId, name: 'ci', expiresAt: new Date(start + hourMs) },
        'test'
      )
      const gateway = await control.tokens.create({ role: 'gateway', name: 'gw' }, 'test')
      t.match(secret, /^cg_control_\w{49}$/)
      t.match(gateway.secret, /^cg_gateway_\w{49}$/)
      const found = await control.tokens.findBySecret(secret)
      t.match(found, { tokenId, ...tokenInfo })
      t.same(toTokenActor(found!), { name: `token:${tokenId}`, role: 'admin', tenantId })
      t.equal(toTokenActor((await control.tokens.findBySecret(gateway.secret))!), undefined)
      t.equal(await control.tokens.findBySecret(secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')), undefined)
      t.notMatch(
        JSON.stringify([await control.tokens.list(tenantId), await control.listAuditEntries({ limit: 100 })]),
        secret
      )
      await control.tokens.revoke(gateway.tokenId, 'test')
      t.equal(await control.tokens.findBySecret(gateway.secret), undefined)
      pass(hourMs)
      t.equal(await control.tokens.findBySecret(secret), undefined)
    }
  )

  await t.test(
    'a gateway is listed as it last reported, with how far behind it is and when a change reached it',
    async t => {
      const { control, tenantId, pass } = await openStore(t)
      const { keyId } = await control.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
      const { feedId, through } = await control.listChangesAfter({ feedId: '', seq: 0 }, 100)
      const report = (name: string, seq: number) =>
        control.gateways.report({
          gatewayId: `id-${name}`,
          name,
          version: '1.0.0',
          startedAt: new Date(start).toISOString(),
          position: { feedId, seq },
          checks: { keys: 'ok' }
        })
      await report('near', through)
      await report('far', through)
      await control.keys.revoke(keyId, 'test')
      pass(300)
      await report('near', through + 1)
      t.match(await control.gateways.list(), [
        { name: 'far', changesBehind: 1, isConnected: true },
        { name: 'near', changesBehind: 0, checks: { keys: 'ok' } }
      ])
      t.match(await control.gateways.findPropagation(keyId), {
        gateways: [
          { name: 'far', isReached: false },
          { name: 'near', isReached: true, afterMs: 300 }
        ]
      })
      pass(21_000)
      await report('near', through + 1)
      t.match(await control.gateways.list(), [
        { name: 'far', isConnected: false },
        { name: 'near', isConnected: true }
      ])
      t.match(
        await control.gateways.findPropagation(keyId),
        {
          gateways: [
            { name: 'far', isReached: false },
            { name: 'near', afterMs: 300 }
          ]
        },
        'a later report moves nothing'
      )
      pass(8 * dayMs)
      t.same(await control.gateways.list(), [], 'one that is gone for a week is forgotten')
    }
  )

  await t.test("for a member, another organization's data is missing with the same message as unknown data", async t => {
    const { control, tenantId, join } = await openStore(t)
    const { tenantId: other } = await control.organizations.create({ name: 'Other', plan: 'pro' }, 'test')
    const member = await join('ann@example.org')
    const { keyId } = await control.keys.create({ tenantId: other, mode: 'test', name: 'a key' }, 'test')
    const controlService = createControlService(control, toActor(member))
    const describeOutcome = async (work: () => Promise<unknown>) =>
      await work().then(
        () => 'done',
        ({ reason, message }) => `${reason}: ${message}`
      )
    const same: Array<[() => Promise<unknown>, () => Promise<unknown>]> = [
      [() => controlService.findOrganization(other), () => controlService.findOrganization('org-nothing')],
      [() => controlService.listKeys(other), () => controlService.listKeys('org-nothing')],
      [() => controlService.revokeKey(keyId), () => controlService.revokeKey('key-nothing')],
      [() => controlService.listMembers(other), () => controlService.listMembers()],
      [
        () => controlService.listAuditEntries({ tenantId: other, limit: 1 }),
        () => controlService.listAuditEntries({ limit: 1 })
      ],
      [
        () => controlService.createToken({ tenantId: other, role: 'viewer', name: 'x' }),
        () => controlService.createToken({ role: 'operator', name: 'x' })
      ]
    ]
    for (const [foreign, none] of same) {
      t.match(await describeOutcome(foreign), /^missing: /)
      t.equal(await describeOutcome(foreign), await describeOutcome(none))
    }
    t.match((await controlService.listOrganizations()).map(one => one.tenantId), [tenantId])
    t.match(await describeOutcome(() => controlService.listGateways()), /^forbidden: /)
    t.match(await describeOutcome(() => controlService.changeOrganization(tenantId, { plan: 'sandbox' })), /^forbidden: /)
    t.match(await controlService.changeOrganization(tenantId, { overage: false }), { overage: false })
    await control.members.changeRole(member.memberId, 'viewer', 'test')
    const viewer = createControlService(control, toActor((await control.members.find(member.memberId))!))
    t.match(await describeOutcome(() => viewer.createKey({ tenantId, mode: 'test', name: 'x' })), /^forbidden: /)
    t.match(await describeOutcome(() => viewer.listKeys(tenantId)), 'done')
  })
}
