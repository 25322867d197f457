import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * What a record of an import is known by: 32 hexadecimal digits that tell nothing without the organization's secret.
 */
export type Identity = string

const digits = 32

/**
 * Gives the records of an organization's imports their identities, the same each time: by type and name, or without a
 * name by type, content and how many lines before have the same content.
 */
export class Identities {
  readonly #key: Buffer
  /** Of records that many lines refer to one after the other. */
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

  /** What lines with the same content have in common. */
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
 * The id of a record with this identity. Servers keep ids of digits alone to themselves, so it begins with a letter.
 */
export function idOf (identity: Identity): string {
  return `i${identity}`
}

/** A UUID that belongs to an identity, for a URL that names nothing else. */
export function uuidOf (identity: Identity): string {
  return identity.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
