import { LRUCache } from 'lru-cache'

/** Whose records a guard opens, and the tag system that says so on each of them. */
export interface Tenant {
  /** The code of the tag: `[a-z0-9-]`, unguessable. */
  readonly id: string
  /** The system of the tag: `urn:clinigate:tenant` unless configured otherwise. */
  readonly system: string
}

/** Whether a tag's system is the tenant system, or something that a datastore's collation might take for it. */
export function namesTenantSystem (system: unknown, tenant: Tenant): boolean {
  return system === tenant.system || (typeof system === 'string' && fold(system) === fold(tenant.system))
}

/** Every answer is asked about the same few systems. */
const folded = new LRUCache<string, string>({ max: 1_000 })

/** Equal for texts that differ in case, padding, width, accents or invisible characters only. */
function fold (text: string): string {
  return folded.get(text) ?? folded.set(text, text.normalize('NFKD').replace(/[^!-~]/g, '').toLowerCase()).get(text)!
}
