import type { Scope } from '../../../keys/caller.js'
import type { Key } from '../../store/keys.js'
import type { Tone } from '../components.js'

/** The status of a key at a given time. */
export type KeyStatus = 'good' | 'expiring' | 'rolled' | 'expired' | 'revoked'

/** A key that ends within this time is shown as expiring soon. */
const soonMs = 14 * 24 * 3_600_000

/** The status of a key; a rolled key stays valid until it expires. */
export function conditionOf (key: Pick<Key, 'expiresAt' | 'revokedAt' | 'successor'>, now: Date): KeyStatus {
  if (key.revokedAt !== undefined) return 'revoked'
  const leftMs = key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt) - now.getTime()
  if (leftMs <= 0) return 'expired'
  if (key.successor !== undefined) return 'rolled'
  return leftMs <= soonMs ? 'expiring' : 'good'
}

/** Whether a key still opens anything. */
export function isActive (condition: KeyStatus): boolean {
  return condition !== 'expired' && condition !== 'revoked'
}

/** The words and the colour for each condition. */
export const conditionBadges: Readonly<Record<KeyStatus, { readonly tone: Tone, readonly text: string }>> = {
  good: { tone: 'good', text: 'active' },
  expiring: { tone: 'warning', text: 'expires soon' },
  rolled: { tone: 'warning', text: 'rolled' },
  expired: { tone: 'neutral', text: 'expired' },
  revoked: { tone: 'bad', text: 'revoked' }
}

/** A text for what the scopes of a key permit. */
export function scopesText (scopes: readonly Scope[]): string {
  return scopes.map(scope => (scope === '*' ? 'read, write' : scope)).join(', ')
}
