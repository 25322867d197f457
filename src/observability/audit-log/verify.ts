import { createReadStream, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { genesis, readLine, type ChainEntry } from './chain.js'

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
export function filesOf (file: string): string[] {
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
