import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** The identity of a record in imports: 32 hexadecimal digits that reveal nothing without the organization's secret. */
export type Identity = string

const digits = 32

/**
 * Makes the identities of records in an organization's imports, the same each time: from type and name, or without a
 * name from type, content and the number of earlier lines with the same content.
 */
export class Identities {
  /** A KeyObject, since an HMAC with it costs a fifth. */
  readonly #key: KeyObject
  /** Identities of records that many consecutive lines refer to. */
  readonly #cachedIdentities = new LRUCache<string, Identity>({ max: 1_000 })

  /** @param key the organization's secret, 32 bytes in base64 */
  constructor (key: string) {
    this.#key = createSecretKey(key, 'base64')
  }

  deriveFromName (type: string, name: string): Identity {
    const record = `${type}/${name}`
    const known = this.#cachedIdentities.get(record)
    if (known !== undefined) return known
    const made = this.#deriveIdentity('name', type, name)
    this.#cachedIdentities.set(record, made)
    return made
  }

  /** @param record as others refer to it: `Patient/p1` */
  deriveFromReference (record: string): Identity {
    const [type, name] = record.split('/') as [string, string]
    return this.deriveFromName(type, name)
  }

  /** The identity that lines with the same content share. */
  deriveFromContent (type: string, content: string): Identity {
    return this.#deriveIdentity('content', type, content)
  }

  /** @param before how many lines before have the same content */
  deriveForDuplicate (content: Identity, before: number): Identity {
    return this.#deriveIdentity('twin', content, String(before))
  }

  #deriveIdentity (...parts: readonly string[]): Identity {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('hex').slice(0, digits)
  }
}

/**
 * The id of a record with this identity. Servers reserve ids of digits only for themselves, so it begins with a letter.
 */
export function toRecordId (identity: Identity): string {
  return `i${identity}`
}

/** A UUID made from an identity, for a URL that identifies nothing else. */
export function toUuid (identity: Identity): string {
  return identity.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
