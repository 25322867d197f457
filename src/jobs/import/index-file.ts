import { IndexQueries } from './index-queries.js'
import type { Identity } from './line-ids.js'
import {
  states, type Counts, type LineOutcomeRow, type IndexStage, type NewLine, type Part,
  type LineAction, type LineRange
} from './index-rows.js'

/** An earlier line with the same identity, and whether it has a position in the order of writing or needs none. */
interface SameIdentity {
  readonly line: number
  readonly isOrdered: number
}

/**
 * The index of an import, an SQLite file: for each line its location, references, state and result. It is the
 * checkpoint and the source of the results. Names are stored as keyed hashes, results encrypted. Changes are on disk
 * after a commit, or once lines were stored as sent, whichever comes first.
 */
export class IndexFile extends IndexQueries {
  #counts: Counts
  /** These are cached, since every line needs them. */
  #hasEarlier: boolean
  #parts: readonly Part[]

  constructor (path: string) {
    super(path)
    this.#counts = this.sql.counts.get() as Counts
    this.#parts = this.listParts()
    this.#hasEarlier = this.sql.hasEarlier.get() !== undefined
  }

  /** Writes all changes to disk. */
  commit (): void {
    this.writes.commit()
  }

  /** Calls a function once all changes until now are on disk, or are certain never to be. */
  onCommit (act: (isWritten: boolean) => void): void {
    this.writes.onCommit(act)
  }

  get counts (): Counts {
    return this.#counts
  }

  set (stage: IndexStage): void {
    this.writes.change(1, () => this.sql.setMark.run(stage))
  }

  /** Begins a part of the input, with the type of its lines that have none. */
  begin (part: Part): void {
    this.writes.change(1, () => this.sql.begin.run(part))
    this.#parts = this.listParts()
  }

  /** The type of lines at an offset of the input that have no type; undefined if no part has one. */
  findTypeAt (at: number): string | undefined {
    return this.#parts.findLast(part => part.at <= at)?.type ?? undefined
  }

  /**
   * Adds lines in their order. A line that refers only to lines with a position in the order of writing gets its
   * position immediately; for others it is not known yet whether a line that they refer to comes later.
   * @param duplicateCounts the new number of lines with a content
   * @param buildFailure builds the failure of a line that has the identity of an earlier one
   * @returns the lines that fail because they have the identity of an earlier one
   */
  add (lines: readonly NewLine[], duplicateCounts: ReadonlyMap<string, number>,
    buildFailure: (line: NewLine) => Buffer): readonly number[] {
    const added = this.writes.change(lines.length, () => {
      const added = lines.map(line => this.#add(line, buildFailure))
      for (const [content, count] of duplicateCounts) this.sql.setDuplicates.run(content, count)
      return added
    })
    const failed = lines.filter(({ failure }, at) => failure !== undefined || added[at] === false).length
    const { total, processed, failed: before } = this.#counts
    this.#counts = { total: total + lines.length, processed: processed + failed, failed: before + failed }
    return lines.filter((_, at) => added[at] === false).map(({ line }) => line)
  }

  /** @returns false for a line that has the identity of an earlier one */
  #add (line: NewLine, buildFailure: (line: NewLine) => Buffer): boolean {
    const { failure, identity } = line
    if (line.isBlank === true) return this.#insert(line, false)
    const find = (target: Identity) => ({ target, found: this.sql.called.get(target) as SameIdentity | undefined })
    const named = line.refersTo.filter(target => target !== identity).map(find)
    const missing = new Set(named.filter(({ found }) => found === undefined).map(({ target }) => target))
    const others = (line.alternatives ?? []).flatMap(({ main, others }) =>
      main === undefined || missing.has(main) ? others() : []
    )
    const references = [...named, ...others.filter(target => target !== identity).map(find)]
    const isOrdered = failure === undefined && references.every(({ found }) => found?.isOrdered === 1)
    if (this.#insert(line, isOrdered)) {
      for (const { target, found } of references) {
        if (found === undefined) this.sql.addReference.run(line.line, target)
        else this.sql.addLink.run(line.line, found.line)
      }
      return true
    }
    const { identity: _, ...without } = line
    this.#insert({ ...without, failure: failure ?? buildFailure(line) }, false)
    return false
  }

  #insert ({ line, at, bytes, type, identity, failure, isBlank }: NewLine, isOrdered: boolean): boolean {
    const state = isBlank === true ? states.skipped : failure === undefined ? states.waiting : states.failed
    const position = isOrdered ? line : null
    return this.sql.add.run({
      line,
      at,
      bytes,
      type: type ?? null,
      identity: identity ?? null,
      position,
      state,
      result: failure ?? null
    }).changes > 0
  }

  /** Resolves the first so many open references to later lines. @returns whether there were any */
  link (max: number): boolean {
    const upTo = this.sql.unlinked.get(max) as number | undefined
    if (upTo === undefined) return false
    this.writes.change(max, () => {
      if (this.sql.link.run(upTo).changes > 0) this.sql.setMark.run('hasForwardReferences' satisfies IndexStage)
      this.sql.dropLinked.run(upTo)
    })
    return true
  }

  /** Gives the lines of a range that have no position their order in the input. */
  orderAsRead (lineRange: LineRange): void {
    this.writes.change(lineRange.upTo - lineRange.after, () => this.sql.orderAsRead.run(lineRange))
  }

  /** Sets the positions of lines in the order of writing; lines with the same cycle refer to each other. */
  order (
    positions: ReadonlyArray<{ readonly line: number, readonly position: number, readonly cycle: number | null }>
  ): void {
    this.writes.change(positions.length, () => {
      for (const position of positions) this.sql.order.run(position)
    })
  }

  /**
   * Stores whether all earlier records of a type are in the index, before this import writes one; the first value
   * stays.
   */
  noteType (type: string, isListed: boolean): void {
    this.writes.change(1, () => this.sql.noteType.run(type, isListed ? 1 : 0))
  }

  /** Stores records that existed before the import. */
  addEarlier (records: readonly Identity[]): void {
    this.writes.change(records.length, () => {
      for (const record of records) this.sql.addEarlier.run(record)
    })
    this.#hasEarlier ||= records.length > 0
  }

  /** Whether the index has any record that existed before the import. */
  get hasEarlier (): boolean {
    return this.#hasEarlier
  }

  /** Stores the planned action of lines on disk before the datastore receives them. */
  send (lines: ReadonlyArray<{ readonly line: number, readonly plan: LineAction }>): void {
    this.writes.change(lines.length, () => {
      for (const line of lines) this.sql.send.run(line)
    })
    this.commit()
  }

  /** Stores the outcomes of lines. @returns the lines that had no outcome before */
  end (endings: readonly LineOutcomeRow[]): readonly number[] {
    const ended = this.writes.change(endings.length,
      () =>
        endings.filter(({ line, isFailed, result }) =>
          this.sql.end.run({ line, state: isFailed ? states.failed : states.done, result }).changes > 0
        ))
    const { total, processed, failed } = this.#counts
    this.#counts = {
      total,
      processed: processed + ended.length,
      failed: failed + ended.filter(({ isFailed }) => isFailed).length
    }
    return ended.map(({ line }) => line)
  }

  /** Writes all changes to disk, and closes the file. */
  close (): void {
    try {
      this.commit()
    } finally {
      this.writes.end()
      this.db.close()
    }
  }
}
