/**
 * AssemblyScript, compiled by `npm run outline` into `compiled.ts`. It searches JSON for a text, sixteen bytes at a
 * time. JSON that escapes a slash may hide the text, and is declined.
 */

import { backslash, quote } from '../nodes/tokens.as'

/** Where the caller writes the sought text, its replacement or the name of a member, and the JSON. */
const sought: usize = 0
const other: usize = 512
const start: usize = 1024

const slash: u8 = 0x2f
const colon: u8 = 0x3a

let end: usize = start
let soughtLength: usize = 0
let otherLength: usize = 0
/** Whether the last search has met a slash that is escaped. */
let isEscaped: bool = false

/** The lengths of what the caller has written, in bytes. */
export function open (length: usize, lengthOfSought: usize, lengthOfOther: usize): void {
  end = start + length
  soughtLength = lengthOfSought
  otherLength = lengthOfOther
}

/**
 * Whether a member whose name is the other text has a value that begins with the sought text.
 * @returns 1 also where a slash is escaped, else 0
 */
export function hasMember (): i32 {
  for (let at = find(start); at < end; at = find(at + soughtLength)) {
    if (isValueOf(at)) return 1
  }
  return isEscaped ? 1 : 0
}

/**
 * Writes the JSON with the other text in place of the sought one.
 * @param output where there is room for all of it
 * @returns the length of the output; -1 where a slash is escaped, or there is no room
 */
export function replace (output: usize, limit: usize): i32 {
  let from = start
  let to = output
  while (true) {
    const at = find(from)
    if (isEscaped || to + (at - from) + otherLength > limit) return -1
    memory.copy(to, from, at - from)
    to += at - from
    if (at === end) return i32(to - output)
    memory.copy(to, other, otherLength)
    to += otherLength
    from = at + soughtLength
  }
}

/** The next position of the sought text; the end if there is none. */
function find (from: usize): usize {
  const first = i8x16.splat(load<u8>(sought))
  const last = i8x16.splat(load<u8>(sought + soughtLength - 1))
  isEscaped = false
  for (let here = from; here < end; here += 16) {
    const bytes = v128.load(here)
    const escapes = v128.and(
      i8x16.eq(bytes, i8x16.splat(backslash)),
      i8x16.eq(v128.load(here + 1), i8x16.splat(slash))
    )
    const places = v128.and(i8x16.eq(bytes, first), i8x16.eq(v128.load(here + soughtLength - 1), last))
    if (!v128.any_true(v128.or(escapes, places))) continue
    const escape = v128.any_true(escapes) ? here + ctz(i8x16.bitmask(escapes)) : end
    for (let found = i8x16.bitmask(places); found !== 0; found &= found - 1) {
      const at = here + ctz(found)
      if (at + soughtLength <= end && at < escape && memory.compare(at, sought, soughtLength) === 0) return at
    }
    if (escape + 1 < end) {
      isEscaped = true
      return end
    }
  }
  return end
}

/** Whether the text at a position is the beginning of a member's value. */
function isValueOf (at: usize): bool {
  if (load<u8>(at - 1) !== quote) return false
  const behind = spaceBefore(at - 1)
  if (load<u8>(behind - 1) !== colon) return false
  const name = spaceBefore(behind - 1) - otherLength
  return name >= start && memory.compare(name, other, otherLength) === 0
}

function spaceBefore (from: usize): usize {
  let here = from
  while (load<u8>(here - 1) <= 0x20) here--
  return here
}
