/**
 * AssemblyScript, compiled by `npm run outline` into `compiled.ts`: https://www.assemblyscript.org. It reads a Bundle as
 * strictly as JSON.parse does, and leaves out the elements of resources that the check of a page does not look at. It
 * declines what it does not understand, and the caller parses the whole text.
 */

/** The brackets that close what is open are written below the text, one byte each; the caller writes the text there. */
const maxDepth: usize = 512
const start: usize = maxDepth

const quote: u8 = 0x22
const comma: u8 = 0x2c
const minus: u8 = 0x2d
const dot: u8 = 0x2e
const zero: u8 = 0x30
const nine: u8 = 0x39
const colon: u8 = 0x3a
const openList: u8 = 0x5b
const backslash: u8 = 0x5c
const closeList: u8 = 0x5d
const openObject: u8 = 0x7b
const closeObject: u8 = 0x7d

/** What an object is; of the last two, only some members are retained. */
const bundle: i32 = 0
const entry: i32 = 1
const resource: i32 = 2
const meta: i32 = 3

/** Names of up to eight bytes, and the first eight of longer ones, as they lie in memory. */
const entryName: u64 = 0x7972746e65
const resourceName: u64 = <u64>0x65637275 << 32 | 0x6f736572
const fullUrlName: u64 = <u64>0x6c7255 << 32 | 0x6c6c7566
const typeRest: u32 = 0x65707954
const idName: u64 = 0x6469
const metaName: u64 = 0x6174656d
const tagName: u64 = 0x676174

/** What is read next. */
let at: usize = start
/** What was read up to here is in the outline, or left out of it. */
let handled: usize = start
/** The end of the outline. It is written over the text, and never ends behind what was read of it. */
let end: usize = start
/** The name that was read last: where it begins, its length, and its first eight bytes. */
let name: usize = 0
let nameLength: usize = 0
let word: u64 = 0

/**
 * Replaces the text in memory by its outline.
 * @param length of the text in bytes, which are valid UTF-8; at least 16 bytes of zero follow
 * @returns the length of the outline; -1 for a text that is not JSON, and for one that it declines
 */
export function outline (length: i32): i32 {
  at = handled = end = start
  at = skipSpace(at)
  if (load<u8>(at) !== openObject || !readObject(bundle)) return -1
  at = skipSpace(at)
  if (at !== start + usize(length)) return -1
  retain()
  return i32(end - start)
}

/** An object of which the names of members matter, or any other value in its place. */
function readObject (kind: i32): bool {
  if (load<u8>(at) !== openObject) return readValue()
  at++
  const isWhole = kind < resource
  if (!isWhole) retain()
  let seen: u32 = 0
  if (closes(closeObject)) return true
  do {
    if (!readName() || hasEscape()) return false
    const bit = bitOf(kind)
    if ((seen & bit) !== 0) return false
    const isRetained = isWhole || bit !== 0
    if (!isWhole) {
      if (isRetained && seen !== 0) store<u8>(end++, comma)
      handled = name - 1
    }
    seen |= bit
    if (!readMember(kind)) return false
    if (!isWhole) {
      if (isRetained) retain()
      else handled = at
    }
  } while (continues())
  // The comma before what was left out is left out, too.
  if (!isWhole) handled = at
  return closes(closeObject)
}

/**
 * Of the members that say which record it is, and whose: no object may have one twice, since it would depend on the
 * reader. Only these are retained of a resource and its meta.
 */
function bitOf (kind: i32): u32 {
  if (kind === bundle) return isName(entryName, 5) ? 1 : 0
  if (kind === entry) return isName(resourceName, 8) ? 1 : isName(fullUrlName, 7) ? 2 : 0
  if (kind === meta) return isName(tagName, 3) ? 1 : 0
  if (isName(idName, 2)) return 1
  if (isName(metaName, 4)) return 2
  return nameLength === 12 && word === resourceName && load<u32>(name + 8) === typeRest ? 4 : 0
}

/** The value of the member whose name was read. */
function readMember (kind: i32): bool {
  if (kind === bundle && isName(entryName, 5)) return readEntries()
  if (kind === entry && isName(resourceName, 8)) return readObject(resource)
  if (kind === resource && isName(metaName, 4)) return readObject(meta)
  return readValue()
}

function readEntries (): bool {
  if (load<u8>(at) !== openList) return readValue()
  at++
  if (closes(closeList)) return true
  do {
    if (!readObject(entry)) return false
  } while (continues())
  return closes(closeList)
}

/** Appends what was read since, and was not left out. */
function retain (): void {
  const length = at - handled
  if (end !== handled) memory.copy(end, handled, length)
  end += length
  handled = at
}

function isName (expected: u64, length: usize): bool {
  return nameLength === length && word === expected
}

/** Whether the name that was read last is spelled in another way than with its own characters. */
function hasEscape (): bool {
  for (let i: usize = 0; i < nameLength; i++) if (load<u8>(name + i) === backslash) return true
  return false
}

/** A name and its colon, and the space around. */
function readName (): bool {
  const behind = load<u8>(at) === quote ? skipText(at) : 0
  if (behind === 0) return false
  name = at + 1
  nameLength = behind - 1 - name
  word = load<u64>(name)
  if (nameLength < 8) word &= (<u64>1 << (<u64>nameLength * 8)) - 1
  at = skipColon(behind)
  return at !== 0
}

function closes (bracket: u8): bool {
  at = skipSpace(at)
  if (load<u8>(at) !== bracket) return false
  at++
  return true
}

function continues (): bool {
  if (!closes(comma)) return false
  at = skipSpace(at)
  return true
}

/** @returns whether it is a value, which `at` is behind then */
function readValue (): bool {
  at = skipValue(at)
  return at !== 0
}

// What follows takes where something begins, and returns where it ends: 0 for anything else.

/** Any value, whatever is in it. */
function skipValue (from: usize): usize {
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
function skipColon (from: usize): usize {
  const here = skipSpace(from)
  return load<u8>(here) === colon ? skipSpace(here + 1) : 0
}

function skipSpace (from: usize): usize {
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

/** A text from its first quotation mark on; sixteen bytes at a time. */
function skipText (from: usize): usize {
  let here = from + 1
  while (true) {
    const bytes = v128.load(here)
    const ends = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash))),
      i8x16.lt_u(bytes, i8x16.splat(0x20))
    )
    const found = i8x16.bitmask(ends)
    if (found === 0) {
      here += 16
      continue
    }
    here += ctz(found)
    const char = load<u8>(here)
    if (char === quote) return here + 1
    here = char === backslash ? skipEscape(here) : 0
    if (here === 0) return 0
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

function isDigit (char: u8): bool {
  return char >= zero && char <= nine
}

function isHexDigit (char: u8): bool {
  const letter = char | 0x20
  return isDigit(char) || (letter >= 0x61 && letter <= 0x66)
}
