import { IndexQueries } from './index-queries.js'
import type { Identity } from './line-ids.js'
import {
  states, type Counts, type LineOutcomeRow, type IndexStage, type NewLine, type Part,
  type LineAction, type LineRange
} from './index-rows.js'

/** A line that was called so before, and whether it has its place in the order of writing or needs none. */
interface Called {
  readonly line: number
  readonly isOrdered: number
}

/**
 * The index of an import, an SQLite file: for each line its place, what it refers to, its state and its result. It is
 * the checkpoint and the source of the results. Names are in it as keyed hashes, results sealed. What is noted is on
 * the disk once it was committed, or once lines were noted as sent, whichever comes first.
 */
export class IndexFile extends IndexQueries {
  #counts: Counts
  /** These are requested each line. */
  #hasEarlier: boolean
  #parts: readonly Part[]

  constructor (path: string) {
    super(path)
    this.#counts = this.sql.counts.get() as Counts
    this.#parts = this.parts()
    this.#hasEarlier = this.sql.hasEarlier.get() !== undefined
  }

  /** Has all that was noted until now on the disk. */
  commit (): void {
    this.writes.commit()
  }

  /** Does something, once, when all that was noted until now is on the disk, or never will be. */
  afterwards (act: (isWritten: boolean) => void): void {
    this.writes.afterwards(act)
  }

  get counts (): Counts {
    return this.#counts
  }

  set (mark: IndexStage): void {
    this.writes.change(1, () => this.sql.setMark.run(mark))
  }

  /** Begins a part of the input, whose lines that do not say their type are of this one. */
  begin (part: Part): void {
    this.writes.change(1, () => this.sql.begin.run(part))
    this.#parts = this.parts()
  }

  /** The type of lines at a place of the input that do not say their own; undefined where no part says. */
  typeAt (at: number): string | undefined {
    return this.#parts.findLast(part => part.at <= at)?.type ?? undefined
  }

  /**
   * Adds lines in their order. Those that refer to none but such as have their place in the order of writing get theirs
   * at once; of others it is not known yet whether what they refer to comes later.
   * @param twins how many lines there are with a content from now on
   * @param refused what a line fails with that has the identity of one before
   * @returns which of them have their place
   */
  add (lines: readonly NewLine[], twins: ReadonlyMap<string, number>,
    refused: (line: NewLine) => Buffer): ReadonlySet<number> {
    const added = this.writes.change(lines.length, () => {
      const added = lines.map(line => this.#add(line, refused))
      for (const [content, count] of twins) this.sql.setTwins.run(content, count)
      return added
    })
    const failed = added.filter(what => what === 'failed').length
    const { total, processed, failed: before } = this.#counts
    this.#counts = { total: total + lines.length, processed: processed + failed, failed: before + failed }
    return new Set(lines.filter((_, at) => added[at] === 'ordered').map(({ line }) => line))
  }

  #add (line: NewLine, refused: (line: NewLine) => Buffer): 'ordered' | 'waiting' | 'failed' {
    const { failure, identity } = line
    const references = line.refersTo.filter(target => target !== identity).map(target => ({
      target,
      found: this.sql.called.get(target) as Called | undefined
    })
    )
    const isOrdered = failure === undefined && references.every(({ found }) => found?.isOrdered === 1)
    if (this.#insert(line, isOrdered)) {
      for (const { target, found } of references) {
        if (found === undefined) this.sql.addReference.run(line.line, target)
        else this.sql.addLink.run(line.line, found.line)
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
    return this.sql.add.run({
      line,
      at,
      bytes,
      type: type ?? null,
      identity: identity ?? null,
      seal: seal ?? null,
      position,
      state,
      result: failure ?? null
    }).changes > 0
  }

  /**
   * Notes which lines behind them the first so many references lead to, of those that are not noted yet. @returns
   * whether there were any
   */
  link (max: number): boolean {
    const upTo = this.sql.unlinked.get(max) as number | undefined
    if (upTo === undefined) return false
    this.writes.change(max, () => {
      if (this.sql.link.run(upTo).changes > 0) this.sql.setMark.run('leads on' satisfies IndexStage)
      this.sql.dropLinked.run(upTo)
    })
    return true
  }

  /** Has those of these lines that have no place yet written in the order in which they stand. */
  orderAsRead (lineRange: LineRange): void {
    this.writes.change(lineRange.upTo - lineRange.after, () => this.sql.orderAsRead.run(lineRange))
  }

  /** Puts lines in the order of writing; those with the same circle refer to each other. */
  order (
    positions: ReadonlyArray<{ readonly line: number, readonly position: number, readonly cycle: number | null }>
  ): void {
    this.writes.change(positions.length, () => {
      for (const position of positions) this.sql.order.run(position)
    })
  }

  /**
   * Notes whether the earlier records of a type are all noted, before this import writes one; what was noted first
   * stays.
   */
  noteType (type: string, isListed: boolean): void {
    this.writes.change(1, () => this.sql.noteType.run(type, isListed ? 1 : 0))
  }

  /** Notes records that were there before. */
  addEarlier (records: readonly Identity[]): void {
    this.writes.change(records.length, () => {
      for (const record of records) this.sql.addEarlier.run(record)
    })
    this.#hasEarlier ||= records.length > 0
  }

  /** Whether any record was noted as one that was there before. */
  get hasEarlier (): boolean {
    return this.#hasEarlier
  }

  /** Notes what is about to be done with lines, and has it on the disk before the datastore hears of it. */
  send (lines: ReadonlyArray<{ readonly line: number, readonly plan: LineAction }>): void {
    this.writes.change(lines.length, () => {
      for (const line of lines) this.sql.send.run(line)
    })
    this.commit()
  }

  /** Notes how it ended with lines. @returns those that had not ended before */
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

  /** Has all that was noted on the disk, and lets go of the file. */
  close (): void {
    try {
      this.commit()
    } finally {
      this.writes.end()
      this.db.close()
    }
  }
}
