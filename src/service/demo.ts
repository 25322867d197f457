import type { Plans } from '../config.js'
import type { ControlStore } from '../control/store.js'

/** The organization of the first start, with the only showing of its keys. */
export interface Demo {
  readonly tenantId: string
  readonly testKey: string
  readonly liveKey: string
}

/** Makes the organization `demo` and its keys where there is no organization yet, so that the first request needs no other command. */
export async function createDemo (control: ControlStore, plans: Plans): Promise<Demo | undefined> {
  if ((await control.listOrganizations()).length > 0) return undefined
  const plan = Object.hasOwn(plans, 'pro') ? 'pro' : Object.keys(plans)[0]!
  const by = 'first start'
  const { tenantId } = await control.createOrganization({ name: 'demo', plan }, by)
  const { secret: testKey } = await control.createKey({ tenantId, mode: 'test', name: 'demo test key' }, by)
  const { secret: liveKey } = await control.createKey({ tenantId, mode: 'live', name: 'demo live key' }, by)
  return { tenantId, testKey, liveKey }
}
