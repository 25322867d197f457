import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'

const algorithm = 'aes-256-gcm'

/** Bytes of a nonce. */
export const nonceBytes = 12

/** Bytes of the tag behind the ciphertext. */
export const tagBytes = 16

/** How something is encrypted. */
interface Encryption {
  /** 32 bytes. From bytes Node.js makes a KeyObject for each text, which takes longer than to encrypt a small one. */
  readonly key: KeyObject
  /** Each key must encrypt with each nonce only once. */
  readonly nonce: Uint8Array
  /** Data that is authenticated with the content but not contained in it. */
  readonly associatedData?: Uint8Array
}

/** Encrypts by AES-256-GCM. @returns the ciphertext and the tag that belongs behind it */
export function encrypt ({ key, nonce, associatedData }: Encryption, plain: Uint8Array): readonly [Buffer, Buffer] {
  const cipher = createCipheriv(algorithm, key, nonce)
  if (associatedData !== undefined) cipher.setAAD(associatedData)
  const bytes = cipher.update(plain)
  cipher.final()
  return [bytes, cipher.getAuthTag()]
}

/** The decrypted content; undefined unless exactly it was encrypted with this key, nonce and associated data. */
export function decrypt ({ key, nonce, associatedData }: Encryption, sealed: Buffer): Buffer | undefined {
  if (nonce.length !== nonceBytes || sealed.length < tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
  if (associatedData !== undefined) decipher.setAAD(associatedData)
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  const plain = decipher.update(sealed.subarray(0, -tagBytes))
  try {
    decipher.final()
    return plain
  } catch {
    return undefined
  }
}
