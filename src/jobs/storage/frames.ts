import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { decrypt, encrypt, nonceBytes, tagBytes } from '../../files/authenticated-encryption.js'

/** The secret from which a file's keys are derived: content encrypted for one file is not valid for another. */
export interface FileSecret { readonly key: Uint8Array, readonly name: string }

/** The bytes of plaintext in a frame; one with fewer is the last of its row. */
export const frameBytes = 65_536

/** The bytes of a frame on disk. */
export const sealedFrameBytes = frameBytes + tagBytes

/** Derives a separate key for each use (RFC 5869). */
export function deriveKey (
  { key, name }: FileSecret, use: 'list' | 'frames', salt: Uint8Array = Buffer.alloc(0)
): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, salt, `clinigate spool 1 ${use} ${name}`, 32)))
}

/** Encrypts a frame for the disk, in parts. Each key must encrypt each number only once. */
export function encryptFrame (key: KeyObject, number: number, plain: Uint8Array): readonly [Buffer, Buffer] {
  return encrypt({ key, nonce: toNonce(number) }, plain)
}

/** The content of a frame; undefined unless exactly this frame was encrypted with this key and number. */
export function decryptFrame (key: KeyObject, number: number, frame: Buffer): Buffer | undefined {
  return decrypt({ key, nonce: toNonce(number) }, frame)
}

/** The bytes of plaintext in so many bytes of a row. */
export function toPlaintextLength (rowBytes: number): number {
  return Math.floor(rowBytes / sealedFrameBytes) * frameBytes + Math.max(0, rowBytes % sealedFrameBytes - tagBytes)
}

function toNonce (number: number): Buffer {
  const nonce = Buffer.alloc(nonceBytes)
  nonce.writeUIntBE(number, nonceBytes - 6, 6)
  return nonce
}
