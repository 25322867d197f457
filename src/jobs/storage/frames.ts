import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'

/** What the keys of one file are made of: nothing that was encrypted for one name of one job passes for another. */
export interface FileSecret { readonly key: Uint8Array, readonly name: string }

/** Plain bytes of a frame; one with fewer is the last of its row. */
export const frameBytes = 65_536

const tagBytes = 16

/** Bytes that a frame takes on the disk. */
export const sealedFrameBytes = frameBytes + tagBytes

const algorithm = 'aes-256-gcm'
const nonceBytes = 12

/** A key of its own for each use (RFC 5869). */
export function keyFor ({ key, name }: FileSecret, use: 'list' | 'frames', salt: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, `clinigate spool 1 ${use} ${name}`, 32))
}

/** A frame as it goes to the disk, in parts. A key seals each number once. */
export function encryptFrame (key: Uint8Array, number: number, plain: Uint8Array): readonly [Buffer, Buffer] {
  const cipher = createCipheriv(algorithm, key, nonceOf(number))
  const bytes = cipher.update(plain)
  cipher.final()
  return [bytes, cipher.getAuthTag()]
}

/** What is in a frame; undefined when it is not, bit for bit, the one that was sealed with this key and number. */
export function decryptFrame (key: Uint8Array, number: number, frame: Buffer): Buffer | undefined {
  if (frame.length < tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, key, nonceOf(number), { authTagLength: tagBytes })
  decipher.setAuthTag(frame.subarray(-tagBytes))
  const plain = decipher.update(frame.subarray(0, -tagBytes))
  try {
    decipher.final()
    return plain
  } catch {
    return undefined
  }
}

/** Plain bytes in so many bytes of a row. */
export function plaintextLength (rowBytes: number): number {
  return Math.floor(rowBytes / sealedFrameBytes) * frameBytes + Math.max(0, rowBytes % sealedFrameBytes - tagBytes)
}

function nonceOf (number: number): Buffer {
  const nonce = Buffer.alloc(nonceBytes)
  nonce.writeUIntBE(number, nonceBytes - 6, 6)
  return nonce
}
