import type Database from 'better-sqlite3'
import type { Identity } from './line-ids.js'
import {
  schema,
  prepareStatements,
  states,
  type IndexedLine,
  type IndexStage,
  type Part,
  type ResultRow
} from './index-rows.js'
import { maxReferences } from './pace.js'
import { openDatabase, WriteBuffer } from './write-buffer.js'

/** The queries on the index of an import; {@link IndexFile} writes it. */
export class IndexQueries {
  protected readonly db: Database.Database
  protected readonly sql: ReturnType<typeof prepareStatements>
  protected readonly writes: WriteBuffer

  constructor (path: string) {
    this.db = openDatabase(path, schema)
    this.writes = new WriteBuffer(this.db)
    this.sql = prepareStatements(this.db)
  }

  /** Runs many queries and no changes in one transaction. */
  runInTransaction<T> (work: () => T): T {
    return this.writes.runInTransaction(work)
  }

  has (stage: IndexStage): boolean {
    return this.sql.mark.get(stage) !== undefined
  }

  /** Where reading continues: after the last line in the index. */
  getReadPosition (): { readonly line: number, readonly at: number } {
    const last = this.sql.last.get() as { line: number, at: number, bytes: number } | undefined
    return last === undefined ? { line: 1, at: 0 } : { line: last.line + 1, at: last.at + last.bytes + 1 }
  }

  /** The parts of the input that were started. */
  listParts (): readonly Part[] {
    return this.sql.parts.all() as Part[]
  }

  /** The type of a line that could be read. */
  getType (line: number): string {
    return (this.sql.typeOf.get(line) as { type: string }).type
  }

  /** The number of lines with this content. */
  countDuplicates (content: Identity): number {
    return (this.sql.duplicates.get(content) as { count: number } | undefined)?.count ?? 0
  }

  /** The number of the last line. */
  get last (): number {
    return this.getReadPosition().line - 1
  }

  /** Lines after one, in the order of the input, that have no position in the order of writing. */
  listUnordered (after: number, max: number): readonly number[] {
    return this.sql.unordered.all(after, max).map(row => (row as { line: number }).line)
  }

  /** Whether a line has a position in the order of writing, or needs none. */
  isOrdered (line: number): boolean {
    return this.sql.isOrdered.get(line) !== undefined
  }

  /** The next free position in the order of writing. */
  getNextPosition (): number {
    return (this.sql.nextPosition.get() as { position: number }).position
  }

  /** The lines of this import that one refers to, except itself. */
  referred (line: number): readonly IndexedLine[] {
    return this.sql.referred.all(line) as IndexedLine[]
  }

  /** The result of a line that is done or failed, encrypted. */
  getResult (line: number): Buffer {
    return this.sql.result.get(line) as Buffer
  }

  /** The numbers of the lines that one refers to. */
  targets (line: number): readonly number[] {
    return this.sql.targets.all(line) as number[]
  }

  /** Lines that are not written, after a position in the order of writing. */
  listPending (after: number, max: number): ReadonlyArray<{ readonly line: number, readonly position: number }> {
    return this.sql.pending.all(after, max) as Array<{ line: number, position: number }>
  }

  /** A line that could be read. */
  getLine (line: number): IndexedLine {
    return this.sql.one.get(line) as IndexedLine
  }

  /**
   * The next lines without any attempt that refer only to stored lines, after a position in the order of writing; none
   * of a cycle.
   */
  findReadyLines (request: ReadyQuery): ReadyPage {
    return this.runInTransaction(() => queryReadyLines(this.sql, request))
  }

  /**
   * The next lines that were sent to be created and whose outcome is unknown, after a position in the order of writing.
   */
  findSubmittedLines (after: number, max: number): ReadyPage {
    return this.runInTransaction(() => querySubmittedLines(this.sql, after, max))
  }

  /** The lines of a cycle that are not written. */
  listCycleLines (cycle: number): readonly IndexedLine[] {
    return this.sql.cycle.all(cycle) as IndexedLine[]
  }

  /** Whether the index lists the records of a type that existed before this import wrote one; undefined until known. */
  isListed (type: string): boolean | undefined {
    const row = this.sql.isListed.get(type) as { isListed: number } | undefined
    return row && row.isListed === 1
  }

  /** Whether the index has a record as one that existed before the import. */
  isEarlier (record: Identity): boolean {
    return this.sql.isEarlier.get(record) !== undefined
  }

  /** Lines after one, in their order, each with its result if it has one. */
  listResultRows (after: number, max: number): readonly ResultRow[] {
    return this.sql.rows.all(after, max) as ResultRow[]
  }

  /** The first lines that failed. */
  listFailures (max: number): readonly ResultRow[] {
    return this.sql.failures.all(max) as ResultRow[]
  }
}

/** Matching lines, and the position after which to continue; undefined when all lines were checked. */
interface ReadyPage { readonly lines: readonly IndexedLine[], readonly after: number | undefined }

/** The lines to find: those after a position in the order of writing, within both limits. */
interface ReadyQuery { readonly after: number, readonly maxBytes: number, readonly maxLines: number }

type Statements = Pick<ReturnType<typeof prepareStatements>, 'unwritten' | 'targetsOf'>

/**
 * Maximum number of lines checked in one go: of a million that wait for one, none may match, and the process is blocked
 * meanwhile.
 */
const rowsPerQuery = 1_000

/** Lines without any attempt that refer only to stored lines; none of a cycle. */
function queryReadyLines (sql: Statements, { after, maxBytes, maxLines }: ReadyQuery): ReadyPage {
  const lines: IndexedLine[] = []
  const rows = queryUnwritten(sql, after)
  let references = 0
  for (const row of rows) {
    if (references >= maxReferences || lines.length === maxLines) return { lines, after: row.position - 1 }
    if (row.state !== states.waiting || row.cycle !== null || row.bytes > maxBytes) continue
    const targets = sql.targetsOf.get(row.line) as { readonly total: number, readonly open: number }
    references += targets.total
    if (targets.open === 0) lines.push(row)
  }
  return { lines, after: rows.at(-1)?.position }
}

/** Lines that were sent to be created and whose outcome is unknown. */
function querySubmittedLines (sql: Statements, after: number, max: number): ReadyPage {
  const rows = queryUnwritten(sql, after)
  const lines = rows.filter(({ state, plan }) => state === states.sent && plan === 'created')
  return lines.length > max
    ? { lines: lines.slice(0, max), after: lines[max]!.position - 1 }
    : { lines, after: rows.at(-1)?.position }
}

function queryUnwritten (sql: Statements, after: number): ReadonlyArray<IndexedLine & { readonly position: number }> {
  return sql.unwritten.all(after, rowsPerQuery) as Array<IndexedLine & { position: number }>
}
