import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { ChangeEvent } from '../event.js'
import type { Intent } from '../intent.js'

/** How far a journal is written: its latest file and that file's size. Earlier files are complete. */
export interface JournalEnd { readonly number: number, readonly size: number }

/** The file of a journal with a number, in the directory of the database that takes its entries. */
export function toJournalPath (database: string, number: number): string {
  return join(dirname(database), `${nameOf(database)}-${number}.journal`)
}

/** The numbers of the files that are there, in order. */
export function listJournalFiles (database: string): readonly number[] {
  const pattern = new RegExp(`^${nameOf(database)}-(\\d+)\\.journal$`)
  return readdirSync(dirname(database))
    .flatMap(name => pattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

const nameOf = (database: string) => basename(database, '.db').replaceAll(/[^\w-]/g, '_')

/** An entry of the journal: what a change is about to be, or the events of what it became, none if there was none. */
type JournalEntry =
  | { readonly kind: 'intent', readonly id: number, readonly content: string }
  | { readonly kind: 'concluded', readonly id: number, readonly events: string, readonly count: number }

/** The line of an intent. */
export function formatIntent (id: number, intent: Intent): string {
  return formatLine(`i${id} ${JSON.stringify(intent)}`)
}

/** The line with the outcome of an intent. */
export function formatConclusion (id: number, events: readonly ChangeEvent[]): string {
  return formatLine(`c${id} ${events.length} ${events.map(event => JSON.stringify(event)).join(',')}`)
}

const formatLine = (text: string) => `${crc32(text).toString(36)} ${text}\n`

/** The entries between two positions of a file. */
interface ReadEntries {
  readonly entries: readonly JournalEntry[]
  /** The position after the last line. */
  readonly end: number
  /** Whether there are entries after lines that are not entries. What follows a failed write may be torn, as a tail. */
  readonly isDamaged: boolean
}

/** Reads the complete lines of a file from a position on, to a size or else to its end. */
export function readEntries (file: string, from: number, size = Infinity): ReadEntries {
  const bytes = readBytes(file, from, size)
  const lines = bytes.subarray(0, bytes.lastIndexOf(newline) + 1)
  const read = lines.toString().split('\n').slice(0, -1).map(parseLine)
  const firstTorn = read.indexOf(undefined)
  const entries = read.filter(entry => entry !== undefined)
  return { entries, end: from + lines.length, isDamaged: firstTorn !== -1 && entries.length > firstTorn }
}

function readBytes (file: string, from: number, size: number): Buffer {
  const opened = openSync(file, 'r')
  try {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(size, fstatSync(opened).size) - from))
    let read = 0
    for (let count = -1; read < bytes.length && count !== 0; read += count) {
      count = readSync(opened, bytes, read, bytes.length - read, from + read)
    }
    return bytes.subarray(0, read)
  } finally {
    closeSync(opened)
  }
}

const newline = 0x0a

/** Undefined if the line is not as it was written, such as after a power failure. */
function parseLine (line: string): JournalEntry | undefined {
  const [, sum, text = ''] = /^(\w+) ([^]*)$/.exec(line) ?? []
  if (sum !== crc32(text).toString(36)) return undefined
  const [, kind, id, content = ''] = /^([ic])(\d+) ([^]*)$/.exec(text) ?? []
  if (kind === 'i') return { kind: 'intent', id: Number(id), content }
  const [, count, events = ''] = /^(\d+) ([^]*)$/.exec(content) ?? []
  return { kind: 'concluded', id: Number(id), events, count: Number(count) }
}
