import { randomUUID } from 'node:crypto'
import type { ControlStore } from '../../src/control-plane/store/store.js'
import type { Health } from '../../src/envelope/health-states.js'
import type { UsageLine } from '../../src/limits/usage.js'
import type { Mode } from '../../src/config/mode.js'

/** A clock that a test moves. */
export interface TestClock { shiftMs: number }

/** The ids of a clinic that was at work for a month. */
interface Scene {
  readonly tenantId: string
  /** A valid live key. */
  readonly keyId: string
  readonly revokedKeyId: string
  readonly memberId: string
  readonly tokenId: string
  /** A webhook that the service disabled. */
  readonly webhookId: string
}

const dayMs = 86_400_000
const by = 'member:grace@clinic.example'

/**
 * Fills a control plane with what a clinic had after a month: keys in every state, people, tokens, usage, gateways in
 * every state.
 */
export async function setScene (control: ControlStore, clock: TestClock): Promise<Scene> {
  clock.shiftMs = -40 * dayMs
  const { tenantId } = await control.organizations.create(
    { name: 'Clinic on the Lake', plan: 'starter' },
    'member:operator@clinigate.local'
  )
  await control.organizations.create(
    { name: 'Laboratory Nord', plan: 'pro', overage: false },
    'member:operator@clinigate.local'
  )
  await control.organizations.create(
    { name: 'University Hospital, Department of Internal Medicine', plan: 'enterprise', datastore: 'hospital-eu' },
    'cli:root'
  )
  const createKey = (name: string, mode: Mode, inDays?: number) =>
    control.keys.create(
      { tenantId, name, mode, ...(inDays === undefined ? {} : { expiresAt: new Date(Date.now() + inDays * dayMs) }) },
      by
    )
  const { keyId } = await createKey('Intake form', 'live')
  const test = await createKey('Continuous integration', 'test', 9)
  await createKey('Pilot of the summer', 'test', -10)
  const leaked = await createKey('Appointment reminders', 'live')
  const memberId = await setPeople(control, tenantId)
  const { tokenId } = await control.tokens.create({ tenantId, name: 'deployment', role: 'admin' }, by)
  const stopped = await control.tokens.create({ tenantId, name: 'old dashboard of ours', role: 'viewer' }, by)
  await control.tokens.create({ name: 'gateway-eu-1', role: 'gateway' }, 'member:operator@clinigate.local')
  clock.shiftMs = -dayMs
  await control.keys.revoke(leaked.keyId, by)
  await control.tokens.revoke(stopped.tokenId, by)
  clock.shiftMs = 0
  await control.keys.roll((await createKey('Letters to practitioners', 'live')).keyId, 7 * dayMs, by)
  await setUsage(control, [
    { tenantId, mode: 'live', keyId },
    { tenantId, mode: 'live', keyId: leaked.keyId },
    { tenantId, mode: 'test', keyId: test.keyId }
  ])
  await setGateways(control, clock)
  const webhookId = await setWebhooks(control, tenantId)
  return { tenantId, keyId, revokedKeyId: leaked.keyId, memberId, tokenId, webhookId }
}

/** A webhook that the service disabled after what its receiver responded, and one that nothing was sent to. */
async function setWebhooks (control: ControlStore, tenantId: string): Promise<string> {
  const owner = { tenantId, mode: 'live', by } as const
  await control.webhooks.create({
    url: 'https://analytics.clinic.example/events', types: ['patients.*', 'appointments.created', 'fhir.Basic.*']
  }, owner)
  const { id: webhookId } = await control.webhooks.create({
    url: 'https://reminders.clinic.example/hooks/clinigate/with/a/path/that/is/longer/than/a/telephone/is/wide',
    description: 'Reminders of appointments',
    enabled: false
  }, owner)
  const turn = {
    ...owner, lease: { webhookId, number: 0 }, url: '', secrets: [], retries: [], fresh: [], position: 0, through: 0, maxFailures: 0
  }
  const attempts = ([[200, undefined], [500, '<html><body>Internal server error</body></html>'], [410, 'Gone']] as const)
    .map(([responseStatus, responseText], at) => ({
      event: {
        id: `evt_${'a'.repeat(25)}${at}`, type: 'appointments.created', body: '', createdAt: '', sequence: 0, attempt: at + 1
      },
      outcome: responseStatus === 200 ? 'delivered' as const : 'failed' as const,
      at: new Date(Date.now() - (9 - at) * 60_000).toISOString(),
      durationMs: 87,
      responseStatus,
      ...responseText !== undefined && { responseText }
    }))
  attempts[2]!.event.sequence = 1
  await control.webhookQueue.record(turn, { attempts, position: 0 })
  return webhookId
}

async function setPeople (control: ControlStore, tenantId: string): Promise<string> {
  const join = (name: string, role: 'admin' | 'viewer') =>
    control.members.upsertFromProvider({
      issuer: 'https://login.example.org',
      subject: name,
      email: `${name.split(' ')[0]!.toLowerCase()}@clinic.example`,
      name,
      role,
      tenantId
    })
  await join('Grace Okafor', 'admin')
  await join('Tomasz Wiśniewski', 'viewer')
  const { token } = await control.invitations.create(
    { tenantId, email: 'annemarie.van-der-heijden@clinic.example', role: 'viewer' },
    by
  )
  const { memberId } = await control.invitations.accept(token, {
    name: 'Annemarie van der Heijden',
    password: 'a sentence for a test'
  })
  await control.invitations.create({ tenantId, email: 'late@clinic.example', role: 'admin' }, by)
  return memberId
}

type Who = Pick<UsageLine, 'tenantId' | 'mode' | 'keyId'>

/** Weeks of a clinic: much usage on weekdays, little on Sundays, some errors. */
async function setUsage (control: ControlStore, [main, other, test]: readonly Who[]): Promise<void> {
  const lines: UsageLine[] = []
  const add = (who: Who, at: Date, rest: Pick<UsageLine, 'resource' | 'outcome' | 'count'>) =>
    lines.push({
      ...who,
      interaction: 'search',
      isCounted: true,
      isOverage: false,
      hour: `${at.toISOString().slice(0, 13)}:00:00Z`,
      lastAt: at.toISOString(),
      ...rest
    })
  for (let day = 0; day < 35; day++) {
    const at = new Date(Date.now() - day * dayMs - 60_000)
    const busy = at.getUTCDay() === 0 ? 60 : 900 + (day * 137) % 400
    add(main!, at, { resource: 'patients', outcome: 'ok', count: busy })
    add(main!, at, { resource: 'observations', outcome: 'ok', count: Math.round(busy * 0.6) })
    if (day > 0) add(other!, at, { resource: 'appointments', outcome: 'ok', count: Math.round(busy * 0.2) })
    if (day % 3 === 0) add(main!, at, { resource: 'patients', outcome: 'error', count: 40 + day })
    if (day % 5 === 1) add(main!, at, { resource: 'observations', outcome: 'refused', count: 70 })
    add(test!, at, { resource: 'Bundle', outcome: day % 4 === 0 ? 'failed' : 'ok', count: 12 })
  }
  await control.usage.apply(
    { ledgerId: 'ledger-of-the-scene', number: 1, batchId: randomUUID(), lines },
    'gateway-eu-1'
  )
}

async function setGateways (control: ControlStore, clock: TestClock): Promise<void> {
  const { feedId, through: seq } = await control.listChangesAfter({ feedId: '', seq: 0 }, 1_000)
  const report = (name: string, behind: number, checks: Record<string, Health>) =>
    control.gateways.report({
      gatewayId: name,
      name,
      version: '1.4.0',
      startedAt: new Date(Date.now() - 3 * dayMs).toISOString(),
      position: { feedId, seq: seq - behind },
      checks
    })
  clock.shiftMs = -3_600_000
  await report('gateway-us-1', 3, { keys: 'ok', live: 'degraded' })
  clock.shiftMs = 0
  await report('gateway-eu-1', 0, { keys: 'ok', live: 'ok', test: 'ok' })
  await report('gateway-eu-2', 1, { keys: 'ok', live: 'ok', test: 'ok' })
}
