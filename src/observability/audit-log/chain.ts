import { hash as digest } from 'node:crypto'
import { createReadStream, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AuditEntry, AuditGap, AuditBacklogEntry } from './entry.js'

/** The position of a chain of lines: the number of its last line and that line's hash. */
export interface ChainEntry { readonly n: number, readonly hash: string }

/** Before the first line. */
export const genesis: ChainEntry = { n: 0, hash: '0'.repeat(64) }

/** The next line, which contains the previous line's hash and its own, and the chain's position after it. */
export function buildNextLine (
  { n, hash }: ChainEntry,
  entry: AuditEntry | AuditGap | AuditBacklogEntry
): { readonly text: string; readonly link: ChainEntry } {
  const content = JSON.stringify({ n: n + 1, previous: hash, ...entry }).slice(0, -1)
  const own = hashOf(content)
  return { text: `${content},"hash":"${own}"}\n`, link: { n: n + 1, hash: own } }
}

const form = /^(\{"n":(\d{1,15}),"previous":"([0-9a-f]{64})",.*),"hash":"([0-9a-f]{64})"\}$/

/** The link of a line, and the one that the line names as previous. Undefined if the line was altered. */
export function readLine (text: string): { readonly link: ChainEntry, readonly before: ChainEntry } | undefined {
  const [, content, number, previous, hash] = form.exec(text) ?? []
  if (content === undefined || hashOf(content) !== hash) return undefined
  const n = Number(number)
  return { link: { n, hash: hash! }, before: { n: n - 1, hash: previous! } }
}

function hashOf (content: string): string {
  return digest('sha256', content)
}

/** The result of verifying a log. */
export interface VerificationResult {
  readonly lines: number
  /** The number of the first available line; more than 1 where older files are stored elsewhere. */
  readonly first: number
  /** The last line, to compare a later verification, or a copy stored elsewhere, with. */
  readonly last: ChainEntry
  /** Whether a line that is known from elsewhere is not there. */
  readonly isKnownMissing: boolean
  /** The first line that was altered or is out of sequence. */
  readonly broken?: { readonly file: string, readonly line: number, readonly reason: string }
}

/** The files of a log, oldest first: those that were set aside when they were full, and the present one. */
export function listLogFiles (file: string): string[] {
  const aside = readdirSync(dirname(file))
    .filter(name => name.startsWith(`${basename(file)}.`) && /^\d{12}$/.test(name.slice(basename(file).length + 1)))
    .sort()
  const isThere = readdirSync(dirname(file)).includes(basename(file))
  return [...aside.map(name => join(dirname(file), name)), ...isThere ? [file] : []]
}

/**
 * Reads the files in order and follows the chain of their lines through all of them; `known` is a line, as
 * `number:hash`, that they must contain.
 */
export async function verify (files: readonly string[], known?: string): Promise<VerificationResult> {
  let last: ChainEntry | undefined
  let first = 0
  let lines = 0
  let isKnownMissing = known !== undefined
  for (const file of files) {
    let line = 0
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      line++
      const read = readLine(text)
      const reason = read === undefined ? 'the line was changed after it was written' : findMisplaced(read.before, last)
      if (reason !== undefined) {
        return { lines, first, last: last ?? genesis, isKnownMissing, broken: { file, line, reason } }
      }
      last = read!.link
      first ||= last.n
      if (known === `${last.n}:${last.hash}`) isKnownMissing = false
      lines++
    }
  }
  return { lines, first, last: last ?? genesis, isKnownMissing }
}

/** Older files may have been moved elsewhere; between the available lines none may be missing. */
function findMisplaced (before: ChainEntry, last: ChainEntry | undefined): string | undefined {
  if (last === undefined) {
    return before.n === 0 && before.hash !== genesis.hash ? 'the line is not the first line of a log' : undefined
  }
  if (before.n === last.n && before.hash === last.hash) return undefined
  return before.n === last.n
    ? 'the line before it was replaced'
    : `the line is number ${before.n + 1} but follows number ${last.n}`
}
