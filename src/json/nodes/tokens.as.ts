/** AssemblyScript: what JSON consists of, read as strictly as JSON.parse reads it. */

/** The expected closing brackets are written below the text, one byte each; the caller writes the text there. */
export const maxDepth: usize = 512

export const quote: u8 = 0x22
export const comma: u8 = 0x2c
const minus: u8 = 0x2d
const dot: u8 = 0x2e
const zero: u8 = 0x30
const nine: u8 = 0x39
const colon: u8 = 0x3a
export const openList: u8 = 0x5b
export const backslash: u8 = 0x5c
export const closeList: u8 = 0x5d
export const openObject: u8 = 0x7b
export const closeObject: u8 = 0x7d

// What follows takes where something begins, and returns where it ends: 0 for anything else.

/** Any value, with any content. */
export function skipValue (from: usize): usize {
  let here = from
  let depth: usize = 0
  while (true) {
    const char = load<u8>(here)
    if (char === quote) here = skipText(here)
    else if (char === openObject || char === openList) {
      const bracket: u8 = char === openObject ? closeObject : closeList
      here = skipSpace(here + 1)
      if (load<u8>(here) === bracket) here++
      else {
        if (depth === maxDepth) return 0
        store<u8>(depth++, bracket)
        if (bracket === closeList) continue
        here = skipName(here)
        if (here === 0) return 0
        continue
      }
    } else here = skipScalar(here)
    if (here === 0) return 0
    // Behind a value, all that ends with it is closed.
    while (true) {
      if (depth === 0) return here
      here = skipSpace(here)
      const bracket = load<u8>(depth - 1)
      const next = load<u8>(here)
      if (next === comma) {
        here = skipSpace(here + 1)
        if (bracket === closeList) break
        here = skipName(here)
        if (here === 0) return 0
        break
      }
      if (next !== bracket) return 0
      here++
      depth--
    }
  }
}

function skipName (from: usize): usize {
  const behind = load<u8>(from) === quote ? skipText(from) : 0
  return behind === 0 ? 0 : skipColon(behind)
}

/** A colon, and the space around. */
export function skipColon (from: usize): usize {
  const here = skipSpace(from)
  return load<u8>(here) === colon ? skipSpace(here + 1) : 0
}

export function skipSpace (from: usize): usize {
  let here = from
  let char = load<u8>(here)
  while (char <= 0x20 && (char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09)) char = load<u8>(++here)
  return here
}

function skipScalar (from: usize): usize {
  const char = load<u8>(from)
  if (char === minus || isDigit(char)) return skipNumber(from)
  const word = load<u32>(from)
  if (word === 0x65757274 || word === 0x6c6c756e) return from + 4 // true, null
  return char === 0x66 && load<u32>(from + 1) === 0x65736c61 ? from + 5 : 0 // false
}

/** A text from its first quotation mark on. */
export function skipText (from: usize): usize {
  let here = from + 1
  while (true) {
    here = findSpecial(here)
    const char = load<u8>(here)
    if (char === quote) return here + 1
    here = char === backslash ? skipEscape(here) : 0
    if (here === 0) return 0
  }
}

/** The next quotation mark, backslash or control character; sixteen bytes at a time. */
export function findSpecial (from: usize): usize {
  let here = from
  while (true) {
    const bytes = v128.load(here)
    const ends = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash))),
      i8x16.lt_u(bytes, i8x16.splat(0x20))
    )
    const found = i8x16.bitmask(ends)
    if (found !== 0) return here + ctz(found)
    here += 16
  }
}

function skipEscape (from: usize): usize {
  const char = load<u8>(from + 1)
  if (char === 0x75) { // \uXXXX
    for (let i: usize = 2; i < 6; i++) if (!isHexDigit(load<u8>(from + i))) return 0
    return from + 6
  }
  // " \ / b f n r t
  const isKnown = char === quote || char === backslash || char === 0x2f || char === 0x62 || char === 0x66 ||
    char === 0x6e || char === 0x72 || char === 0x74
  return isKnown ? from + 2 : 0
}

function skipNumber (from: usize): usize {
  let here = load<u8>(from) === minus ? from + 1 : from
  here = load<u8>(here) === zero ? here + 1 : skipDigits(here)
  if (here !== 0 && load<u8>(here) === dot) here = skipDigits(here + 1)
  if (here === 0 || (load<u8>(here) | 0x20) !== 0x65) return here
  const sign = load<u8>(here + 1)
  return skipDigits(sign === minus || sign === 0x2b ? here + 2 : here + 1)
}

/** One digit or more. */
function skipDigits (from: usize): usize {
  let here = from
  while (isDigit(load<u8>(here))) here++
  return here === from ? 0 : here
}

/** Whether the same bytes lie in two places. */
export function isSame (one: usize, length: usize, other: usize, otherLength: usize): bool {
  return length === otherLength && memory.compare(one, other, length) === 0
}

function isDigit (char: u8): bool {
  return char >= zero && char <= nine
}

function isHexDigit (char: u8): bool {
  const letter = char | 0x20
  return isDigit(char) || (letter >= 0x61 && letter <= 0x66)
}
