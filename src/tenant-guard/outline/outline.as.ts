/**
 * AssemblyScript, compiled by `npm run outline` into `compiled.ts`: https://www.assemblyscript.org. It reads a Bundle
 * as strictly as JSON.parse does, and writes the parts that the check of a page needs. It declines what it does not
 * understand, and the caller parses the whole text.
 */

import {
  closeList, closeObject, comma, findSpecial, isSame, maxDepth, openList, openObject, quote, skipColon, skipSpace,
  skipText, skipValue
} from '../../json/nodes/tokens.as'

/** Where the text begins; the caller writes it there. */
const start: usize = maxDepth

/** Names of up to eight bytes, and the first eight of longer ones, as they lie in memory. */
const entryName: u64 = 0x7972746e65
const resourceName: u64 = <u64>0x65637275 << 32 | 0x6f736572
const fullUrlName: u64 = <u64>0x6c7255 << 32 | 0x6c6c7566
const typeRest: u32 = 0x65707954
const idName: u64 = 0x6469
const metaName: u64 = 0x6174656d
const tagName: u64 = 0x676174
const systemName: u64 = <u64>0x6d65 << 32 | 0x74737973
const codeName: u64 = 0x65646f63

/** The next position to read; 0 after invalid JSON. */
let at: usize = start
/** The outline is written behind the text and its zeros: up to here, and no further than the limit. */
let end: usize = 0
let limit: usize = 0
let isFull: bool = false
/** How far from the start of the text its list of entries begins, after an outline was written. */
export let entriesStart: usize = 0
/** The name that was read last: where it begins, its length, and its first eight bytes. */
let name: usize = 0
let nameLength: usize = 0
let word: u64 = 0

/** Where a value of the entry that is read lies in the text; nowhere if there is none. */
let fullUrl: usize = 0
let fullUrlEnd: usize = 0
let type: usize = 0
let typeEnd: usize = 0
let id: usize = 0
let idEnd: usize = 0
let tags: usize = 0
let tagsEnd: usize = 0
let hasResource: bool = false
let hasMeta: bool = false
/** The tags, and the other members, of the last entry that had different ones than the entry before it. */
let lastTags: usize = 0
let lastTagsLength: usize = 0
let lastRest: usize = 0
let lastRestLength: usize = 0

/** The markers in place of a value. */
const absent: u8 = 0x30
const same: u8 = 0x30
const none: u8 = 0x31
const noTag: u8 = 0x32

/**
 * Writes the outline of a text behind it: a list whose first item is the Bundle without its entries, followed by five
 * items for each entry. These are its members besides `fullUrl` and `resource`, or 0 for those of the entry before;
 * `fullUrl`, `resourceType` and `id`, or 0 for none, and 1 in place of the type if there is no resource; `meta.tag`, or
 * 0 for that of the entry before, 1 for no meta and 2 for a meta without.
 * @param length of the text in bytes, which are valid UTF-8
 * @param output where the outline begins; at least 16 bytes of zero are between the text and it
 * @returns the length of the outline; -1 for a text that is not JSON, and for one that it declines
 */
export function outline (length: i32, output: usize): i32 {
  at = start
  end = output
  limit = usize(memory.size()) << 16
  isFull = !isRoom(0)
  lastTags = lastRest = lastTagsLength = lastRestLength = 0
  at = skipSpace(at)
  if (load<u8>(at) !== openObject) return -1
  at = skipSpace(at + 1)
  const head = at
  let headEnd = at
  do {
    if (!readName()) return -1
    if (isName(entryName, 5)) {
      put(openList)
      put(openObject)
      copy(head, headEnd)
      put(closeObject)
      entriesStart = at - start
      // A Bundle in which anything follows is never shown in its own text.
      if (!readEntries() || !closes(closeObject) || skipSpace(at) !== start + usize(length)) return -1
      put(closeList)
      return i32(end - output)
    }
    if (!readValue()) return -1
    headEnd = at
  } while (continues())
  return -1
}

function readEntries (): bool {
  if (!opens(openList)) return false
  if (closes(closeList)) return true
  do {
    if (!readEntry()) return false
  } while (continues())
  return closes(closeList)
}

function readEntry (): bool {
  if (!opens(openObject)) return false
  fullUrl = type = id = tags = 0
  hasResource = hasMeta = false
  put(comma)
  const rest = end
  put(openObject)
  if (!closes(closeObject)) {
    do {
      if (!readName()) return false
      if (isName(resourceName, 8)) {
        if (hasResource || !readResource()) return false
      } else if (isName(fullUrlName, 7)) {
        if (fullUrl !== 0) return false
        fullUrl = at
        if (!readText()) return false
        fullUrlEnd = at
      } else {
        if (!readValue()) return false
        if (end > rest + 1) put(comma)
        copy(name - 1, at)
      }
    } while (continues())
    if (!closes(closeObject)) return false
  }
  put(closeObject)
  writeIdentity(rest)
  return !isFull && isRoom(0)
}

/** After the members of an entry: writes the parts that are checked. */
function writeIdentity (rest: usize): void {
  const restLength = end - rest
  if (isSame(lastRest, lastRestLength, rest, restLength)) {
    end = rest
    put(same)
  } else {
    lastRest = rest
    lastRestLength = restLength
  }
  writeText(fullUrl, fullUrlEnd)
  if (hasResource) writeText(type, typeEnd)
  else {
    put(comma)
    put(none)
  }
  writeText(id, idEnd)
  put(comma)
  if (!hasMeta) put(none)
  else if (tags === 0) put(noTag)
  else if (isSame(lastTags, lastTagsLength, tags, tagsEnd - tags)) put(same)
  else {
    lastTags = tags
    lastTagsLength = tagsEnd - tags
    copy(tags, tagsEnd)
  }
}

function writeText (from: usize, to: usize): void {
  put(comma)
  if (from === 0) put(absent)
  else copy(from, to)
}

function readResource (): bool {
  if (!opens(openObject)) return false
  hasResource = true
  if (closes(closeObject)) return true
  do {
    if (!readName()) return false
    const from = at
    if (isName(idName, 2)) {
      if (id !== 0 || !readText()) return false
      id = from
      idEnd = at
    } else if (nameLength === 12 && word === resourceName && load<u32>(name + 8) === typeRest) {
      if (type !== 0 || !readText()) return false
      type = from
      typeEnd = at
    } else if (isName(metaName, 4)) {
      if (hasMeta || !readMeta()) return false
    } else if (!readValue()) return false
  } while (continues())
  return closes(closeObject)
}

function readMeta (): bool {
  if (!opens(openObject)) return false
  hasMeta = true
  if (closes(closeObject)) return true
  do {
    if (!readName()) return false
    const from = at
    if (isName(tagName, 3)) {
      if (tags !== 0 || !readTags()) return false
      tags = from
      tagsEnd = at
    } else if (!readValue()) return false
  } while (continues())
  return closes(closeObject)
}

function readTags (): bool {
  if (!opens(openList)) return false
  if (closes(closeList)) return true
  do {
    if (!readTag()) return false
  } while (continues())
  return closes(closeList)
}

function readTag (): bool {
  if (!opens(openObject)) return false
  if (closes(closeObject)) return true
  let seen: u32 = 0
  do {
    if (!readName()) return false
    const bit: u32 = isName(systemName, 6) ? 1 : isName(codeName, 4) ? 2 : 0
    if ((seen & bit) !== 0 || !readValue()) return false
    seen |= bit
  } while (continues())
  return closes(closeObject)
}

/** Writes what separates values; {@link isRoom} has left room for it. */
function put (char: u8): void {
  store<u8>(end++, char)
}

/** Writes a part of the text, if there is room. */
function copy (from: usize, to: usize): void {
  isFull = isFull || !isRoom(to - from)
  if (isFull) return
  memory.copy(end, from, to - from)
  end += to - from
}

/** Whether there is room for so many bytes, and for the separators that may follow them. */
function isRoom (length: usize): bool {
  return end + length + 64 <= limit
}

/** A string, which `at` is behind then. */
function readText (): bool {
  return (at = load<u8>(at) === quote ? skipText(at) : 0) !== 0
}

function isName (expected: u64, length: usize): bool {
  return nameLength === length && word === expected
}

/** A name that is spelled with its own characters and its colon, and the space around. */
function readName (): bool {
  if (load<u8>(at) !== quote) return false
  name = at + 1
  const behind = findSpecial(name)
  if (load<u8>(behind) !== quote) return false
  nameLength = behind - name
  word = load<u64>(name)
  if (nameLength < 8) word &= (<u64>1 << (<u64>nameLength * 8)) - 1
  return (at = skipColon(behind + 1)) !== 0
}

function opens (bracket: u8): bool {
  if (load<u8>(at) !== bracket) return false
  at++
  return true
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
  return (at = skipValue(at)) !== 0
}
