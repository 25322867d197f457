import { hash as digest } from 'node:crypto'
import type { AuditEntry, AuditGap, AuditBacklogEntry } from './entry.js'

/** Where a chain of lines stands: the number of its last line and what that line's hash is. */
export interface ChainEntry { readonly n: number, readonly hash: string }

/** Before the first line. */
export const genesis: ChainEntry = { n: 0, hash: '0'.repeat(64) }

/** The next line, which carries the hash of the one before it and its own, and where the chain stands then. */
export function nextLine (
  { n, hash }: ChainEntry,
  entry: AuditEntry | AuditGap | AuditBacklogEntry
): { readonly text: string; readonly link: ChainEntry } {
  const content = JSON.stringify({ n: n + 1, previous: hash, ...entry }).slice(0, -1)
  const own = hashOf(content)
  return { text: `${content},"hash":"${own}"}\n`, link: { n: n + 1, hash: own } }
}

const form = /^(\{"n":(\d{1,15}),"previous":"([0-9a-f]{64})",.*),"hash":"([0-9a-f]{64})"\}$/

/**
 * A line as it was read: its own link, and the one that it says was before. Undefined when it is not as it was written.
 */
export function readLine (text: string): { readonly link: ChainEntry, readonly before: ChainEntry } | undefined {
  const [, content, number, previous, hash] = form.exec(text) ?? []
  if (content === undefined || hashOf(content) !== hash) return undefined
  const n = Number(number)
  return { link: { n, hash: hash! }, before: { n: n - 1, hash: previous! } }
}

function hashOf (content: string): string {
  return digest('sha256', content)
}
