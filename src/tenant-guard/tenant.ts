/** Whose records a guard opens, and the tag system that says so on each of them. */
export interface Tenant {
  /** The code of the tag: `[a-z0-9-]`, unguessable. */
  readonly id: string
  /** The system of the tag: `urn:clinigate:tenant` unless configured otherwise. */
  readonly system: string
}

/**
 * Whether a tag's system is the tenant system, or something that a datastore's collation might take for it: a text that
 * differs in case, padding, width, accents or invisible characters only.
 */
export function isTenantSystem (system: unknown, tenant: Tenant): boolean {
  return system === tenant.system || (typeof system === 'string' && isFoldedEqual(system, getFolded(tenant.system)))
}

/** Of the tenant systems alone: there is one. */
const folded = new Map<string, string>()

function getFolded (system: string): string {
  const known = folded.get(system)
  if (known !== undefined) return known
  const made = fold(system)
  folded.set(system, made)
  return made
}

/** Equal for texts that differ in case, padding, width, accents or invisible characters only. */
function fold (text: string): string {
  return text.normalize('NFKD').replace(/[^!-~]/g, '').toLowerCase()
}

/**
 * Character by character, while the texts are equal: the normalized form of each does not depend on its neighbours.
 * Normalization makes eighteen characters of some, and a client may send five million of those.
 */
function isFoldedEqual (text: string, requested: string): boolean {
  let found = 0
  for (const character of text) {
    const stored = foldCharacter(character)
    if (!requested.startsWith(stored, found)) return false
    found += stored.length
  }
  return found === requested.length
}

/** A cache by character, so that each is normalized once: nothing for most of Unicode, a text for a few thousand. */
const isDropped = new Uint8Array(0x110000)
const foldedCharacters = new Map<number, string>()

function foldCharacter (character: string): string {
  const code = character.codePointAt(0)!
  const known = isDropped[code] === 1 ? '' : foldedCharacters.get(code)
  if (known !== undefined) return known
  const stored = fold(character)
  if (stored === '') isDropped[code] = 1
  else foldedCharacters.set(code, stored)
  return stored
}
