import { states, type OrderedLine } from './index-rows.js'
import type { statementsOn } from './index-statements.js'
import { maxReferences } from './pace.js'

/** Matching lines, and the position after which to continue; undefined when all lines were checked. */
export interface ReadyPage { readonly lines: readonly OrderedLine[], readonly after: number | undefined }

/** The lines to find: after a position in the order of writing, at most `max` bytes long, and at most `most`. */
export interface ReadyQuery { readonly after: number, readonly max: number, readonly most: number }

type Statements = Pick<ReturnType<typeof statementsOn>, 'unwritten' | 'targetsOf'>

type LookedAt = OrderedLine & { readonly state: number }

/**
 * Maximum number of lines checked in one go: of a million that wait for one, none may match, and the process is blocked
 * meanwhile.
 */
const lookedAt = 1_000

/** Lines without any attempt that refer only to stored lines; none of a cycle. */
export function nextReadyLines (sql: Statements, { after, max, most }: ReadyQuery): ReadyPage {
  const lines: OrderedLine[] = []
  const rows = unwritten(sql, after)
  let references = 0
  for (const row of rows) {
    if (references >= maxReferences || lines.length === most) return { lines, after: row.position - 1 }
    if (row.state !== states.waiting || row.cycle !== null || row.bytes > max) continue
    const targets = sql.targetsOf.get(row.line) as { readonly total: number, readonly open: number }
    references += targets.total
    if (targets.open === 0) lines.push(row)
  }
  return { lines, after: rows.at(-1)?.position }
}

/** Lines that were sent to be created and whose outcome is unknown. */
export function submittedLines (sql: Statements, after: number, max: number): ReadyPage {
  const rows = unwritten(sql, after)
  const lines = rows.filter(({ state, plan }) => state === states.sent && plan === 'created')
  return lines.length > max
    ? { lines: lines.slice(0, max), after: lines[max]!.position - 1 }
    : { lines, after: rows.at(-1)?.position }
}

function unwritten (sql: Statements, after: number): readonly LookedAt[] {
  return sql.unwritten.all(after, lookedAt) as LookedAt[]
}
