import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { modes, type Mode } from '../config/mode.js'
import { base62, randomString } from './random-text.js'

/** 43 characters of base62 hold 256 bits. */
const randomLength = 43
const checksumLength = 6
const format = new RegExp(`^(svc_(${modes.join('|')})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$`)
const tokenFormat = /^(cg_(?:control|gateway)_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** A new secret key: `svc_test_` or `svc_live_`, 43 random characters, 6 of checksum. Shown once and never stored. */
export function generateSecret (mode: Mode): string {
  const body = `svc_${mode}_${randomString(base62, randomLength)}`
  return body + computeChecksum(body)
}

/** Tokens of programs and of gateways, which give access to the control plane and to no data. */
type TokenKind = 'control' | 'gateway'

/** A new token: `cg_control_` or `cg_gateway_`, then the same as a key. */
export function generateToken (kind: TokenKind): string {
  const body = `cg_${kind}_${randomString(base62, randomLength)}`
  return body + computeChecksum(body)
}

/** Whether a text has the form and the checksum of a token. */
export function isToken (text: string): boolean {
  const [, body, sum] = tokenFormat.exec(text) ?? []
  return body !== undefined && sum === computeChecksum(body)
}

/**
 * Parses a secret without a look-up; undefined where a character is wrong, missing or too many, or where two have
 * changed places.
 */
export function readSecret (text: string): { readonly mode: Mode } | undefined {
  const [, body, mode, sum] = format.exec(text) ?? []
  if (body === undefined || sum !== computeChecksum(body)) return undefined
  return { mode: mode as Mode }
}

/**
 * The hash that is stored instead of the secret: SHA-256 as 64 hexadecimal characters. Why it needs no pepper:
 * docs/decisions/010-key-hash.md.
 */
export function hashSecret (secret: string): string {
  return hash('sha256', secret)
}

function computeChecksum (body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = base62.charAt(rest % base62.length) + text
    rest = Math.floor(rest / base62.length)
  }
  return text
}
