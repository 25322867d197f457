import { createHash, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { Failure } from '../envelope/failures.js'
import { decrypt, encrypt, nonceBytes } from '../files/authenticated-encryption.js'
import type { SearchParameter } from './interaction.js'

/**
 * The search for which a cursor is valid. It is sealed in as associated data, so it is checked without being in the
 * text.
 */
export interface CursorBinding {
  readonly tenant: string
  readonly mode: string
  readonly datastore: string
  readonly route: string
  readonly type: string
  /** Of the key, undefined for one without: the search may have looked into what another key may not read. */
  readonly limits?: string | undefined
}

/** The content of a cursor. */
export interface CursorContents {
  /** The datastore's link to the page, relative to its base URL. */
  readonly link: string
  /** Of {@link hashFilters}. */
  readonly filters: string
  readonly count: number
  readonly total?: number
  /** The includes of the search, as its parameters. */
  readonly ways?: readonly SearchParameter[]
  /** The elements that the search requests of each match, where it does not request whole records. */
  readonly elements?: string
  /** The search whose records the gateway checks itself, and the last one of the page before. */
  readonly checked?: {
    readonly parameters: readonly SearchParameter[]
    readonly conditions: readonly SearchParameter[]
    readonly last: string
    readonly position: number
  }
  /** The types that the includes of the search would lead to, but that the key may not read. */
  readonly closedTypes?: readonly string[]
  /** The condition by which the gateway itself filters every page. */
  readonly narrowing?: readonly SearchParameter[]
}

/** Makes and opens cursors, which are opaque, tamper-proof and valid for a limited time. */
export interface Cursors {
  seal (contents: CursorContents, binding: CursorBinding): string
  /** @throws {Failure} INVALID_CURSOR, one text for forged, foreign and expired ones */
  open (cursor: string, binding: CursorBinding): CursorContents
}

interface CursorOptions {
  /** 32 bytes; the same for all gateways that share clients. */
  readonly key: Uint8Array
  readonly now: () => Date
  /** Below the hour for which HAPI stores a search. */
  readonly lifetimeMinutes?: number
}

const version = 1
/** In characters. A request has 16 KiB for this and its headers. */
export const maxCursor = 12_288

/** Cursors sealed by AES-256-GCM, in base64url. */
export function createCursors ({ key: secret, now, lifetimeMinutes = 50 }: CursorOptions): Cursors {
  if (secret.length !== 32) throw new Error('the cursor key must have 32 bytes')
  const key = createSecretKey(secret)
  return {
    seal (contents, binding) {
      const nonce = randomBytes(nonceBytes)
      const text = JSON.stringify({ ...contents, expires: now().getTime() + lifetimeMinutes * 60_000 })
      const sealed = encrypt({ key, nonce, associatedData: encodeBinding(binding) }, Buffer.from(text))
      const cursor = Buffer.concat([nonce, ...sealed]).toString('base64url')
      if (cursor.length > maxCursor) throw tooLong()
      return cursor
    },
    open (cursor, binding) {
      const { expires, ...contents } = unseal(cursor, key, encodeBinding(binding))
      if (expires <= now().getTime()) throw invalidCursor()
      return contents
    }
  }
}

/**
 * Some servers link to the next page with the whole search, which here may be longer than the client's: a chain becomes
 * a list of ids.
 */
function tooLong (): Failure {
  const message =
    'The result has more than one page, but the search is too long for a cursor. Narrow the search, or request more records per page.'
  return new Failure('BAD_REQUEST', {
    message,
    issues: [{ severity: 'error', code: 'too-costly', diagnostics: message }]
  })
}

/** The failure for every invalid cursor; it does not reveal the reason. */
export function invalidCursor (): Failure {
  return new Failure('INVALID_CURSOR')
}

/** A fingerprint of a search's filters, in any order. */
export function hashFilters (parameters: readonly SearchParameter[]): string {
  const sorted = parameters.map(parameter => JSON.stringify(parameter)).sort()
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url').slice(0, 22)
}

function unseal (cursor: string, key: KeyObject, associatedData: Buffer): CursorContents & { expires: number } {
  const bytes = Buffer.from(cursor.slice(0, maxCursor), 'base64url')
  // The decoder ignores characters that it does not know, but a cursor has only one spelling.
  if (bytes.toString('base64url') !== cursor) throw invalidCursor()
  const plain = decrypt({ key, nonce: bytes.subarray(0, nonceBytes), associatedData }, bytes.subarray(nonceBytes))
  if (plain === undefined) throw invalidCursor()
  return JSON.parse(plain.toString())
}

function encodeBinding ({ tenant, mode, datastore, route, type, limits }: CursorBinding): Buffer {
  const own = limits === undefined ? [] : [limits]
  return Buffer.from(JSON.stringify([version, tenant, mode, datastore, route, type, ...own]))
}
