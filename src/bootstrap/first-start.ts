import type { Config } from '../config/schema.js'
import type { ControlStore } from '../control-plane/store/store.js'

/** What the first start of a control plane creates, with its secrets, which are shown only once. */
export interface FirstRun {
  /** The first operator of the dashboard, where people sign in with passwords stored here. */
  readonly operator?: { readonly email: string, readonly password: string }
  /** An organization to try things out with. */
  readonly demo?: { readonly tenantId: string, readonly testKey: string, readonly liveKey: string }
}

const by = 'first start'

/**
 * Makes an operator where there is none, and the organization `demo` with its keys where there is no organization, so
 * that a browser and the first request need no other command.
 */
export async function firstStart (control: ControlStore, { plans, dashboard }: Config): Promise<FirstRun> {
  const demo = await createDemo(control, plans)
  // Last: if a start is interrupted before it shows anything, the next one still creates an operator, who can create
  // keys.
  const operator = dashboard.localAccounts
    ? await control.members.createFirstOperator('operator@clinigate.local', by)
    : undefined
  return { operator, demo }
}

async function createDemo (control: ControlStore, plans: Config['plans']): Promise<FirstRun['demo']> {
  if ((await control.organizations.list()).length > 0) return undefined
  const plan = Object.hasOwn(plans, 'pro') ? 'pro' : Object.keys(plans)[0]!
  const { tenantId } = await control.organizations.create({ name: 'demo', plan }, by)
  const { secret: testKey } = await control.keys.create({ tenantId, mode: 'test', name: 'demo test key' }, by)
  const { secret: liveKey } = await control.keys.create({ tenantId, mode: 'live', name: 'demo live key' }, by)
  return { tenantId, testKey, liveKey }
}
