import { createCipheriv, randomBytes, type Cipher } from 'node:crypto'

/** From this place on, up to the next piece, a file is encrypted with this number. */
export interface Piece { readonly start: number, readonly nonce: Buffer }

const algorithm = 'aes-256-ctr'
const blockBytes = 16
const startBytes = 8

/** The bytes that a piece takes in a file's list of pieces. */
export const pieceBytes = startBytes + blockBytes

/** A piece that begins at a place, with a number that was never used. */
export const newPiece = (start: number): Piece => ({ start, nonce: randomBytes(blockBytes) })

/** A piece as it stands in the list. */
export function printPiece ({ start, nonce }: Piece): Buffer {
  const bytes = Buffer.alloc(pieceBytes)
  bytes.writeBigUInt64BE(BigInt(start))
  nonce.copy(bytes, startBytes)
  return bytes
}

/** The pieces of a file in their order: one that begins where an earlier one was, or before it, has taken its place. What is not whole at the end was never used. */
export function readPieces (list: Buffer): readonly Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at + pieceBytes <= list.length; at += pieceBytes) {
    const start = Number(list.readBigUInt64BE(at))
    while (pieces.length > 0 && pieces.at(-1)!.start >= start) pieces.pop()
    pieces.push({ start, nonce: Buffer.from(list.subarray(at + startBytes, at + pieceBytes)) })
  }
  return pieces
}

/** What encrypts, or decrypts, the bytes of a piece from a place of the file on. */
export function cipherFrom (key: Uint8Array, { start, nonce }: Piece, place: number): Cipher {
  const offset = place - start
  const cipher = createCipheriv(algorithm, key, counterAfter(nonce, Math.floor(offset / blockBytes)))
  cipher.update(Buffer.alloc(offset % blockBytes))
  return cipher
}

/** The counter block that many blocks on (NIST SP 800-38A, B.1: the whole block counts). */
function counterAfter (nonce: Buffer, blocks: number): Buffer {
  const counter = (BigInt(`0x${nonce.toString('hex')}`) + BigInt(blocks)) % (1n << 128n)
  return Buffer.from(counter.toString(16).padStart(32, '0'), 'hex')
}

/** Decrypts bytes that were read from a place of a file. */
export function decrypted (key: Uint8Array, pieces: readonly Piece[], { bytes, place }: { readonly bytes: Buffer, readonly place: number }): Buffer {
  const plain: Buffer[] = []
  for (const [i, piece] of pieces.entries()) {
    const from = Math.max(piece.start, place)
    const to = Math.min(pieces[i + 1]?.start ?? Infinity, place + bytes.length)
    if (from < to) plain.push(cipherFrom(key, piece, from).update(bytes.subarray(from - place, to - place)))
  }
  const whole = plain.length === 1 ? plain[0]! : Buffer.concat(plain)
  if (whole.length !== bytes.length) throw new Error('the list of pieces of a file of a job is not whole')
  return whole
}
