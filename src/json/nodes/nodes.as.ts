/**
 * AssemblyScript, compiled by `npm run outline` into `compiled.ts`. It reads JSON as strictly as JSON.parse does, and
 * writes down where each value lies, so that no value is made that is not needed.
 */

import {
  closeList, closeObject, comma, findSpecial, openList, openObject, quote, skipColon, skipSpace, skipText, skipValue
} from './tokens.as'

/** A table of the names that are looked for: 4,096 places of eight bytes, and the names behind it. */
const table: usize = 512
const placeBits: u32 = 12
const namesStart: usize = table + (8 << placeBits)
/** Where the text begins; the caller writes it there. */
export const textStart: usize = 65536
const deepest: i32 = 100
/** A flag in the first number of a value: it is a text with a backslash. */
const escaped: u32 = 0x10000

/** Of a hash that spreads names over the table. */
const multiplier: u64 = <u64>0x9e3779b9 << 32 | 0x7f4a7c15

let names: usize = namesStart
/** The next position to read; 0 after invalid JSON. */
let at: usize = 0
/** The values are written behind the text and its zeros: up to here, and no further than the limit. */
let end: usize = 0
let first: usize = 0
let limit: usize = 0

/**
 * Adds a name of at most 64 bytes, which the caller has written where the text begins, with zeros behind it.
 * @returns whether there is room for it
 */
export function addName (length: i32, id: i32): bool {
  if (names + usize(length) + 8 > textStart) return false
  memory.copy(names, textStart, length)
  const place = findPlace(names, length)
  store<u32>(place, u32(names))
  store<u16>(place, u16(length), 4)
  store<u16>(place, u16(id), 6)
  names += length
  return true
}

/**
 * Writes down the values of a text behind it, each before those in it, and nothing before them. Each is four numbers:
 * the id of its name, or 0 for none and for one that is not looked for; where it begins and ends; and how many values
 * are up to the end of it.
 * @param length of the text in bytes, which are valid UTF-8
 * @param output where the values begin; at least 16 bytes of zero are between the text and it
 * @returns the number of values and one; -1 for a text that is not JSON, that has an escape in a name, nests too deep
 * or has no room
 */
export function writeNodes (length: i32, output: usize): i32 {
  at = skipSpace(textStart)
  first = output
  end = output + 16
  limit = usize(memory.size()) << 16
  if (end > limit) return -1
  memory.fill(first, 0, 16)
  if (!writeNode(0, 0) || skipSpace(at) !== textStart + usize(length)) return -1
  return i32((end - first) >> 4)
}

function writeNode (name: u32, depth: i32): bool {
  const node = end
  end += 16
  if (end > limit) return false
  const from = at
  const char = load<u8>(at)
  if (char === quote) {
    at = skipPlainText(from)
    if (at === 0) {
      at = skipText(from)
      name |= escaped
    }
  } else if (char === openObject) {
    if (depth === deepest || !writeMembers(depth + 1)) return false
  } else if (char === openList) {
    if (depth === deepest || !writeItems(depth + 1)) return false
  } else at = skipValue(from)
  store<u32>(node, name)
  store<u32>(node, u32(from), 4)
  store<u32>(node, u32(at), 8)
  store<u32>(node, u32((end - first) >> 4), 12)
  return at !== 0
}

function writeMembers (depth: i32): bool {
  at = skipSpace(at + 1)
  if (load<u8>(at) === closeObject) {
    at++
    return true
  }
  while (true) {
    const name = at + 1
    const behind = load<u8>(at) === quote ? skipPlainText(at) : 0
    if (behind === 0) return false
    at = skipColon(behind)
    if (at === 0 || !writeNode(idOf(name, i32(behind - 1 - name)), depth)) return false
    at = skipSpace(at)
    const char = load<u8>(at)
    at++
    if (char === closeObject) return true
    if (char !== comma) return false
    at = skipSpace(at)
  }
}

function writeItems (depth: i32): bool {
  at = skipSpace(at + 1)
  if (load<u8>(at) === closeList) {
    at++
    return true
  }
  while (true) {
    if (!writeNode(0, depth)) return false
    at = skipSpace(at)
    const char = load<u8>(at)
    at++
    if (char === closeList) return true
    if (char !== comma) return false
    at = skipSpace(at)
  }
}

/** Behind a text that has no escape; 0 for any other. */
function skipPlainText (from: usize): usize {
  const here = findSpecial(from + 1)
  return load<u8>(here) === quote ? here + 1 : 0
}

function idOf (name: usize, length: i32): u32 {
  return length > 64 ? 0 : load<u16>(findPlace(name, length), 6)
}

/** The place of a name in the table, or the empty one where it would be. */
function findPlace (name: usize, length: i32): usize {
  let word = load<u64>(name)
  if (length < 8) word &= (<u64>1 << (<u64>length * 8)) - 1
  else word ^= load<u64>(name + length - 8) * 31
  let place = u32(((word ^ length) * multiplier) >> (64 - placeBits))
  while (true) {
    const slot = table + (place << 3)
    const known = load<u32>(slot)
    if (known === 0) return slot
    if (load<u16>(slot, 4) === u16(length) && memory.compare(known, name, length) === 0) return slot
    place = (place + 1) & ((1 << placeBits) - 1)
  }
}
