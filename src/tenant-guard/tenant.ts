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
  return system === tenant.system || (typeof system === 'string' && foldsTo(system, foldedOnce(tenant.system)))
}

/** Clients may send texts of any length; longer ones are folded piece by piece, and not kept. */
const pieceLength = 200

/** The same few systems are in every answer. */
const folded = new LRUCache<string, string>({ max: 1_000 })

/** Equal for texts that differ in case, padding, width, accents or invisible characters only. */
function fold (text: string): string {
  return text.normalize('NFKD').replace(/[^!-~]/g, '').toLowerCase()
}

function foldedOnce (text: string): string {
  if (text.length > pieceLength) return fold(text)
  const known = folded.get(text)
  if (known !== undefined) return known
  const made = fold(text)
  folded.set(text, made)
  return made
}

/** A long text piece by piece, as far as it is alike: what is kept of each character does not depend on its neighbours. */
function foldsTo (text: string, wanted: string): boolean {
  if (text.length <= pieceLength) return foldedOnce(text) === wanted
  let found = ''
  for (let from = 0, end; from < text.length; from = end) {
    end = endOfPiece(text, from)
    found += fold(text.slice(from, end))
    if (!wanted.startsWith(found)) return false
  }
  return found === wanted
}

/** Characters of two code units stay whole. */
function endOfPiece (text: string, from: number): number {
  const end = Math.min(from + pieceLength, text.length)
  return end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
