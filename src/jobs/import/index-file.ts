import Database from 'better-sqlite3'
import { WriteBuffer } from './gathered-writes.js'
import type { Identity } from './line-ids.js'
import { states, type Counts, type LineOutcomeRow, type IndexedLine, type IndexStage, type NewLine, type Part, type LineAction, type LineReference, type ResultRow, type LineRange } from './index-rows.js'
import { schema, statementsOn } from './index-statements.js'
import { submittedLines, nextReadyLines, type ReadyPage, type ReadyQuery } from './look-through.js'

/** How long the file may be locked, by a gateway that had the job before and hangs. */
const maxLockMs = 1_000

/** A line that was called so before, and whether it has its place in the order of writing or needs none. */
interface Called { readonly line: number, readonly isOrdered: number }

/**
 * The index of an import, an SQLite file: for each line its place, what it refers to, its state and its result. It is the
 * checkpoint and the source of the results. Names are in it as keyed hashes, results sealed. What is noted is on the disk once
 * it was committed, or once lines were noted as sent, whichever comes first.
 */
export class IndexFile {
  readonly #db: Database.Database
  readonly #sql: ReturnType<typeof statementsOn>
  readonly #writes: WriteBuffer
  #counts: Counts
  /** These are asked for each line. */
  #hasEarlier: boolean
  #parts: readonly Part[]

  constructor (path: string) {
    // Everything waits along for another gateway's lock.
    this.#db = new Database(path, { timeout: maxLockMs })
    // Each page that is changed is written alone, and names are all over the file.
    this.#db.pragma('page_size = 8192')
    // Not WAL, whose shared memory gateways on several machines would not share.
    this.#db.pragma('journal_mode = PERSIST')
    this.#db.pragma('synchronous = FULL')
    this.#db.pragma('cache_size = -4096')
    this.#db.exec(schema)
    this.#sql = statementsOn(this.#db)
    this.#writes = new WriteBuffer(this.#db)
    this.#counts = this.#sql.counts.get() as Counts
    this.#parts = this.parts()
    this.#hasEarlier = this.#sql.hasEarlier.get() !== undefined
  }

  /** Does what asks many things and changes none. */
  together<T> (work: () => T): T {
    return this.#writes.together(work)
  }

  /** Has all that was noted until now on the disk. */
  commit (): void {
    this.#writes.commit()
  }

  /** Does something, once, when all that was noted until now is on the disk, or never will be. */
  afterwards (act: (isWritten: boolean) => void): void {
    this.#writes.afterwards(act)
  }

  get counts (): Counts {
    return this.#counts
  }

  has (mark: IndexStage): boolean {
    return this.#sql.mark.get(mark) !== undefined
  }

  set (mark: IndexStage): void {
    this.#writes.change(1, () => this.#sql.setMark.run(mark))
  }

  /** Where reading goes on: behind the last line that is here. */
  next (): { readonly line: number, readonly at: number } {
    const last = this.#sql.last.get() as { line: number, at: number, bytes: number } | undefined
    return last === undefined ? { line: 1, at: 0 } : { line: last.line + 1, at: last.at + last.bytes + 1 }
  }

  /** Begins a part of the input, whose lines that do not say their type are of this one. */
  begin (part: Part): void {
    this.#writes.change(1, () => this.#sql.begin.run(part))
    this.#parts = this.parts()
  }

  /** The parts of the input that were begun. */
  parts (): readonly Part[] {
    return this.#sql.parts.all() as Part[]
  }

  /** The type of lines at a place of the input that do not say their own; undefined where no part says. */
  typeAt (at: number): string | undefined {
    return this.#parts.findLast(part => part.at <= at)?.type ?? undefined
  }

  /** The type of a line that could be read. */
  typeOf (line: number): string {
    return (this.#sql.typeOf.get(line) as { type: string }).type
  }

  /** How many lines with this content there are. */
  twins (content: Identity): number {
    return (this.#sql.twins.get(content) as { count: number } | undefined)?.count ?? 0
  }

  /**
   * Adds lines in their order. Those that refer to none but such as have their place in the order of writing get theirs at once;
   * of others it is not known yet whether what they refer to comes later.
   * @param twins how many lines there are with a content from now on
   * @param refused what a line fails with that has the identity of one before
   * @returns which of them have their place
   */
  add (lines: readonly NewLine[], twins: ReadonlyMap<string, number>, refused: (line: NewLine) => Buffer): ReadonlySet<number> {
    const added = this.#writes.change(lines.length, () => {
      const added = lines.map(line => this.#add(line, refused))
      for (const [content, count] of twins) this.#sql.setTwins.run(content, count)
      return added
    })
    const failed = added.filter(what => what === 'failed').length
    const { total, processed, failed: before } = this.#counts
    this.#counts = { total: total + lines.length, processed: processed + failed, failed: before + failed }
    return new Set(lines.filter((_, at) => added[at] === 'ordered').map(({ line }) => line))
  }

  #add (line: NewLine, refused: (line: NewLine) => Buffer): 'ordered' | 'waiting' | 'failed' {
    const { failure, identity } = line
    const references = line.refersTo.filter(target => target !== identity).map(target => ({ target, found: this.#sql.called.get(target) as Called | undefined }))
    const isOrdered = failure === undefined && references.every(({ found }) => found?.isOrdered === 1)
    if (this.#insert(line, isOrdered)) {
      for (const { target, found } of references) {
        if (found === undefined) this.#sql.addReference.run(line.line, target)
        else this.#sql.addLink.run(line.line, found.line)
      }
      return failure !== undefined ? 'failed' : isOrdered ? 'ordered' : 'waiting'
    }
    const { identity: _, ...without } = line
    this.#insert({ ...without, failure: failure ?? refused(line) }, false)
    return 'failed'
  }

  #insert ({ line, at, bytes, type, identity, seal, failure }: NewLine, isOrdered: boolean): boolean {
    const state = failure === undefined ? states.waiting : states.failed
    const position = isOrdered ? line : null
    return this.#sql.add.run({ line, at, bytes, type: type ?? null, identity: identity ?? null, seal: seal ?? null, position, state, result: failure ?? null }).changes > 0
  }

  /** The number of the last line. */
  get last (): number {
    return this.next().line - 1
  }

  /** Notes which lines behind them the first so many references lead to, of those that are not noted yet. @returns whether there were any */
  link (most: number): boolean {
    const upTo = this.#sql.unlinked.get(most) as number | undefined
    if (upTo === undefined) return false
    this.#writes.change(most, () => {
      if (this.#sql.link.run(upTo).changes > 0) this.#sql.setMark.run('leads on' satisfies IndexStage)
      this.#sql.dropLinked.run(upTo)
    })
    return true
  }

  /** Has those of these lines that have no place yet written in the order in which they stand. */
  orderAsRead (lineRange: LineRange): void {
    this.#writes.change(lineRange.upTo - lineRange.after, () => this.#sql.orderAsRead.run(lineRange))
  }

  /** Lines after one, as they stand in the input, that have no place in the order of writing. */
  unordered (after: number, most: number): readonly number[] {
    return this.#sql.unordered.all(after, most).map(row => (row as { line: number }).line)
  }

  /** Whether a line has its place in the order of writing, or needs none. */
  isOrdered (line: number): boolean {
    return this.#sql.isOrdered.get(line) !== undefined
  }

  /** The next place in the order of writing. */
  nextPosition (): number {
    return (this.#sql.nextPosition.get() as { position: number }).position
  }

  /** The lines of this import that one refers to, itself aside. */
  referred (line: number): readonly LineReference[] {
    return this.#sql.referred.all(line) as LineReference[]
  }

  /** How it ended with a line that is done or failed, sealed. */
  result (line: number): Buffer {
    return this.#sql.result.get(line) as Buffer
  }

  /** The numbers of the lines that one refers to. */
  targets (line: number): readonly number[] {
    return this.#sql.targets.all(line) as number[]
  }

  /** Puts lines in the order of writing; those with the same circle refer to each other. */
  order (positions: ReadonlyArray<{ readonly line: number, readonly position: number, readonly cycle: number | null }>): void {
    this.#writes.change(positions.length, () => { for (const position of positions) this.#sql.order.run(position) })
  }

  /** Lines that are not written, after a place in the order of writing. */
  pending (after: number, most: number): ReadonlyArray<{ readonly line: number, readonly position: number }> {
    return this.#sql.pending.all(after, most) as Array<{ line: number, position: number }>
  }

  /** A line that could be read. */
  at (line: number): IndexedLine {
    return this.#sql.one.get(line) as IndexedLine
  }

  /** The next lines that nothing was done with and that refer to no line but such as are stored, after a place in the order of writing; none of a circle. */
  ready (request: ReadyQuery): ReadyPage {
    return this.together(() => nextReadyLines(this.#sql, request))
  }

  /** The next lines that were sent to be created and of which it is not known what became of them, after a place in the order of writing. */
  handedOver (after: number, most: number): ReadyPage {
    return this.together(() => submittedLines(this.#sql, after, most))
  }

  /** The lines of a circle. */
  cycle (cycle: number): readonly IndexedLine[] {
    return this.#sql.cycle.all(cycle) as IndexedLine[]
  }

  /** Whether those records of a type are noted here that were there before this import wrote one; undefined until it is known. */
  isListed (type: string): boolean | undefined {
    const row = this.#sql.isListed.get(type) as { isListed: number } | undefined
    return row && row.isListed === 1
  }

  /** Notes whether the earlier records of a type are all noted, before this import writes one; what was noted first stays. */
  noteType (type: string, isListed: boolean): void {
    this.#writes.change(1, () => this.#sql.noteType.run(type, isListed ? 1 : 0))
  }

  /** Notes records that were there before. */
  addEarlier (records: readonly Identity[]): void {
    this.#writes.change(records.length, () => { for (const record of records) this.#sql.addEarlier.run(record) })
    this.#hasEarlier ||= records.length > 0
  }

  /** Whether any record was noted as one that was there before. */
  get hasEarlier (): boolean {
    return this.#hasEarlier
  }

  /** Whether a record was noted as one that was there before. */
  isEarlier (record: Identity): boolean {
    return this.#sql.isEarlier.get(record) !== undefined
  }

  /** Notes what is about to be done with lines, and has it on the disk before the datastore hears of it. */
  send (lines: ReadonlyArray<{ readonly line: number, readonly plan: LineAction }>): void {
    this.#writes.change(lines.length, () => { for (const line of lines) this.#sql.send.run(line) })
    this.commit()
  }

  /** Notes how it ended with lines. @returns those that had not ended before */
  end (endings: readonly LineOutcomeRow[]): readonly number[] {
    const ended = this.#writes.change(endings.length, () => endings.filter(({ line, isFailed, result }) =>
      this.#sql.end.run({ line, state: isFailed ? states.failed : states.done, result }).changes > 0))
    const { total, processed, failed } = this.#counts
    this.#counts = { total, processed: processed + ended.length, failed: failed + ended.filter(({ isFailed }) => isFailed).length }
    return ended.map(({ line }) => line)
  }

  /** Lines after one, in their order, each with its result where there is one. */
  rows (after: number, most: number): readonly ResultRow[] {
    return this.#sql.rows.all(after, most) as ResultRow[]
  }

  /** The first lines that failed. */
  failures (most: number): readonly ResultRow[] {
    return this.#sql.failures.all(most) as ResultRow[]
  }

  /** Has all that was noted on the disk, and lets go of the file. */
  close (): void {
    try {
      this.commit()
    } finally {
      this.#writes.end()
      this.#db.close()
    }
  }
}
