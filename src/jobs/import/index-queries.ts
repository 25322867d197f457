import Database from 'better-sqlite3'
import { WriteBuffer } from './gathered-writes.js'
import type { Identity } from './line-ids.js'
import { type IndexedLine, type IndexStage, type Part, type LineReference, type ResultRow } from './index-rows.js'
import { schema, statementsOn } from './index-statements.js'
import { submittedLines, nextReadyLines, type ReadyPage, type ReadyQuery } from './look-through.js'

/** How long the file may be locked, by a gateway that had the job before and hangs. */
const maxLockMs = 1_000

/** What the index of an import is asked; {@link IndexFile} writes it. */
export class IndexQueries {
  protected readonly db: Database.Database
  protected readonly sql: ReturnType<typeof statementsOn>
  protected readonly writes: WriteBuffer

  constructor (path: string) {
    // Everything waits along for another gateway's lock.
    this.db = new Database(path, { timeout: maxLockMs })
    // Each page that is changed is written alone, and names are all over the file.
    this.db.pragma('page_size = 8192')
    // Not WAL, whose shared memory gateways on several machines would not share.
    this.db.pragma('journal_mode = PERSIST')
    this.db.pragma('synchronous = FULL')
    this.db.pragma('cache_size = -4096')
    this.db.exec(schema)
    this.writes = new WriteBuffer(this.db)
    this.sql = statementsOn(this.db)
  }

  /** Does what asks many things and changes none. */
  together<T> (work: () => T): T {
    return this.writes.together(work)
  }

  has (mark: IndexStage): boolean {
    return this.sql.mark.get(mark) !== undefined
  }

  /** Where reading goes on: behind the last line that is here. */
  next (): { readonly line: number, readonly at: number } {
    const last = this.sql.last.get() as { line: number, at: number, bytes: number } | undefined
    return last === undefined ? { line: 1, at: 0 } : { line: last.line + 1, at: last.at + last.bytes + 1 }
  }

  /** The parts of the input that were begun. */
  parts (): readonly Part[] {
    return this.sql.parts.all() as Part[]
  }

  /** The type of a line that could be read. */
  typeOf (line: number): string {
    return (this.sql.typeOf.get(line) as { type: string }).type
  }

  /** How many lines with this content there are. */
  twins (content: Identity): number {
    return (this.sql.twins.get(content) as { count: number } | undefined)?.count ?? 0
  }

  /** The number of the last line. */
  get last (): number {
    return this.next().line - 1
  }

  /** Lines after one, as they stand in the input, that have no place in the order of writing. */
  unordered (after: number, max: number): readonly number[] {
    return this.sql.unordered.all(after, max).map(row => (row as { line: number }).line)
  }

  /** Whether a line has its place in the order of writing, or needs none. */
  isOrdered (line: number): boolean {
    return this.sql.isOrdered.get(line) !== undefined
  }

  /** The next place in the order of writing. */
  nextPosition (): number {
    return (this.sql.nextPosition.get() as { position: number }).position
  }

  /** The lines of this import that one refers to, itself aside. */
  referred (line: number): readonly LineReference[] {
    return this.sql.referred.all(line) as LineReference[]
  }

  /** How it ended with a line that is done or failed, sealed. */
  result (line: number): Buffer {
    return this.sql.result.get(line) as Buffer
  }

  /** The numbers of the lines that one refers to. */
  targets (line: number): readonly number[] {
    return this.sql.targets.all(line) as number[]
  }

  /** Lines that are not written, after a place in the order of writing. */
  pending (after: number, max: number): ReadonlyArray<{ readonly line: number, readonly position: number }> {
    return this.sql.pending.all(after, max) as Array<{ line: number, position: number }>
  }

  /** A line that could be read. */
  at (line: number): IndexedLine {
    return this.sql.one.get(line) as IndexedLine
  }

  /**
   * The next lines that nothing was done with and that refer to no line but such as are stored, after a place in the
   * order of writing; none of a circle.
   */
  ready (request: ReadyQuery): ReadyPage {
    return this.together(() => nextReadyLines(this.sql, request))
  }

  /**
   * The next lines that were sent to be created and of which it is not known what became of them, after a place in the
   * order of writing.
   */
  handedOver (after: number, max: number): ReadyPage {
    return this.together(() => submittedLines(this.sql, after, max))
  }

  /** The lines of a circle. */
  cycle (cycle: number): readonly IndexedLine[] {
    return this.sql.cycle.all(cycle) as IndexedLine[]
  }

  /**
   * Whether those records of a type are noted here that were there before this import wrote one; undefined until it is
   * known.
   */
  isListed (type: string): boolean | undefined {
    const row = this.sql.isListed.get(type) as { isListed: number } | undefined
    return row && row.isListed === 1
  }

  /** Whether a record was noted as one that was there before. */
  isEarlier (record: Identity): boolean {
    return this.sql.isEarlier.get(record) !== undefined
  }

  /** Lines after one, in their order, each with its result where there is one. */
  rows (after: number, max: number): readonly ResultRow[] {
    return this.sql.rows.all(after, max) as ResultRow[]
  }

  /** The first lines that failed. */
  failures (max: number): readonly ResultRow[] {
    return this.sql.failures.all(max) as ResultRow[]
  }
}
