import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** The identity of a record in imports: 32 hexadecimal digits that reveal nothing without the organization's secret. */
export type Identity = string

const digits = 32

/**
 * Makes the identities of records in an organization's imports, the same each time: from type and name, or without a
 * name from type, content and the number of earlier lines with the same content.
 */
export class Identities {
  readonly #key: Buffer
  /** Identities of records that many consecutive lines refer to. */
  readonly #ofNames = new LRUCache<string, Identity>({ max: 1_000 })

  /** @param key the organization's secret, 32 bytes in base64 */
  constructor (key: string) {
    this.#key = Buffer.from(key, 'base64')
  }

  ofName (type: string, name: string): Identity {
    const record = `${type}/${name}`
    const known = this.#ofNames.get(record)
    if (known !== undefined) return known
    const made = this.#made('name', type, name)
    this.#ofNames.set(record, made)
    return made
  }

  /** @param record as others refer to it: `Patient/p1` */
  ofRecord (record: string): Identity {
    const [type, name] = record.split('/') as [string, string]
    return this.ofName(type, name)
  }

  /** The identity that lines with the same content share. */
  ofContent (type: string, content: string): Identity {
    return this.#made('content', type, content)
  }

  /** @param before how many lines before have the same content */
  ofTwin (content: Identity, before: number): Identity {
    return this.#made('twin', content, String(before))
  }

  #made (...parts: readonly string[]): Identity {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('hex').slice(0, digits)
  }
}

/**
 * The id of a record with this identity. Servers reserve ids of digits only for themselves, so it begins with a letter.
 */
export function idOf (identity: Identity): string {
  return `i${identity}`
}

/** A UUID made from an identity, for a URL that identifies nothing else. */
export function uuidOf (identity: Identity): string {
  return identity.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
