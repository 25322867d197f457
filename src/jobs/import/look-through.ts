import { states, type OrderedLine } from './index-rows.js'
import type { statementsOn } from './index-statements.js'
import { maxReferences } from './pace.js'

/**
 * What was found among the next lines that are not written, and the place behind which to look next; none when all were
 * looked at.
 */
export interface ReadyPage { readonly lines: readonly OrderedLine[], readonly after: number | undefined }

/** Which lines are looked for: after a place in the order of writing, no longer than so many bytes, and how many. */
export interface ReadyQuery { readonly after: number, readonly max: number, readonly most: number }

type Statements = Pick<ReturnType<typeof statementsOn>, 'unwritten' | 'targetsOf'>

type LookedAt = OrderedLine & { readonly state: number }

/**
 * So many lines are looked at at once, and no more: of a million that wait for one, none may be found, and everybody
 * waits meanwhile.
 */
const lookedAt = 1_000

/** Lines that nothing was done with and that refer to no line but such as are stored; none of a circle. */
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

/** Lines that were sent to be created and of which it is not known what became of them. */
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
