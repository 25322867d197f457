import { hash as digest } from 'node:crypto'
import type { AuditEntry, AuditGap, AuditBacklogEntry } from './entry.js'

/** The position of a chain of lines: the number of its last line and that line's hash. */
export interface ChainEntry { readonly n: number, readonly hash: string }

/** Before the first line. */
export const genesis: ChainEntry = { n: 0, hash: '0'.repeat(64) }

/** The next line, which contains the previous line's hash and its own, and the chain's position after it. */
export function nextLine (
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
