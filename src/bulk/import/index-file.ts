import Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import type { Identity } from './identities.js'

/** Where a line stands. What is done or failed stays so. */
export const states = { waiting: 0, sent: 1, done: 2, failed: 3 } as const

/** What is to become of a line that was sent to the datastore. */
export type Plan = 'created' | 'updated'

/** A line as it was read. */
export interface NewLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  /** Whether it is a record at all: an empty line is none, and is not counted. */
  readonly type?: string
  /** By which lines refer to it, and from which its id is made. */
  readonly identity?: Identity
  /** What it refers to, as far as that may be in this import. */
  readonly refersTo: readonly Identity[]
  /** Why it can't be stored, sealed; absent for a good one. */
  readonly failure?: Buffer
}

/** A line that is to be written. */
export interface IndexedLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  readonly type: string
  readonly identity: Identity
  readonly circle: number | null
  readonly plan: Plan | null
}

/** A line with its place in the order of writing. */
export interface PlacedLine extends IndexedLine { readonly place: number }

/** Something that a line refers to in this import. */
export interface Referred { readonly line: number, readonly state: number, readonly result: Buffer | null, readonly type: string, readonly identity: Identity }

/** How it ended with a line. */
export interface Ending { readonly line: number, readonly isFailed: boolean, readonly result: Buffer }

/** A line for the results. */
export interface ResultRow { readonly line: number, readonly type: string | null, readonly result: Buffer | null }

/** A part of the input, with the place where it begins. */
export interface Part { readonly number: number, readonly at: number, readonly type: string | null }

export interface Counts { readonly total: number, readonly processed: number, readonly failed: number }

/** How far the whole is: parts of the input, all lines, and their order are in the index. */
export type Mark = 'fetched' | 'read' | 'ordered'

const schema = `
  CREATE TABLE IF NOT EXISTS lines (
    line INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT, identity BLOB UNIQUE,
    place INTEGER, circle INTEGER, state INTEGER NOT NULL, plan TEXT, result BLOB
  );
  CREATE INDEX IF NOT EXISTS pending ON lines(place) WHERE state < 2;
  CREATE INDEX IF NOT EXISTS failures ON lines(line) WHERE state = 3;
  CREATE INDEX IF NOT EXISTS circles ON lines(circle) WHERE circle IS NOT NULL;
  CREATE TABLE IF NOT EXISTS refs (line INTEGER NOT NULL, identity BLOB NOT NULL, PRIMARY KEY (line, identity)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS twins (content BLOB PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS parts (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT);
  CREATE TABLE IF NOT EXISTS types (type TEXT PRIMARY KEY, isListed INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS earlier (record BLOB PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY) WITHOUT ROWID;`

/**
 * The index of an import, an SQLite file: for each line its place, what it refers to, its state and its result. It is the
 * checkpoint and the source of the results. Names are in it as keyed hashes, results sealed.
 */
export class IndexFile {
  readonly #db: Database.Database
  readonly #sql: ReturnType<typeof prepared>
  #counts: Counts
  /** Asked for each line. */
  #parts: readonly Part[]

  constructor (path: string) {
    this.#db = new Database(path)
    // Not WAL, whose shared memory gateways on several machines would not share.
    this.#db.pragma('journal_mode = PERSIST')
    this.#db.pragma('synchronous = FULL')
    this.#db.pragma('cache_size = -8192')
    this.#db.exec(schema)
    this.#sql = prepared(this.#db)
    this.#counts = this.#sql.counts.get() as Counts
    this.#parts = this.parts()
  }

  get counts (): Counts {
    return this.#counts
  }

  has (mark: Mark): boolean {
    return this.#sql.mark.get(mark) !== undefined
  }

  set (mark: Mark): void {
    this.#sql.setMark.run(mark)
  }

  /** Where reading goes on: behind the last line that is here. */
  next (): { readonly line: number, readonly at: number } {
    const last = this.#sql.last.get() as { line: number, at: number, bytes: number } | undefined
    return last === undefined ? { line: 1, at: 0 } : { line: last.line + 1, at: last.at + last.bytes + 1 }
  }

  /** Begins a part of the input, whose lines that do not say their type are of this one. */
  begin (part: Part): void {
    this.#sql.begin.run(part)
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

  /** Whether a line has this identity already. */
  isTaken (identity: Identity): boolean {
    return this.#sql.taken.get(identity) !== undefined
  }

  /** How many lines with this content there are. */
  twins (content: Identity): number {
    return (this.#sql.twins.get(content) as { count: number } | undefined)?.count ?? 0
  }

  /** Adds lines in their order. @param twins how many lines there are with a content from now on */
  add (lines: readonly NewLine[], twins: ReadonlyMap<string, number>): void {
    this.#db.transaction(() => {
      for (const { line, at, bytes, type, identity, refersTo, failure } of lines) {
        this.#sql.add.run({ line, at, bytes, type: type ?? null, identity: identity ?? null, state: failure === undefined ? states.waiting : states.failed, result: failure ?? null })
        for (const target of refersTo) this.#sql.addReference.run(line, target)
      }
      for (const [content, count] of twins) this.#sql.setTwins.run(Buffer.from(content, 'hex'), count)
    })()
    const failed = lines.filter(({ failure }) => failure !== undefined).length
    const { total, processed, failed: before } = this.#counts
    this.#counts = { total: total + lines.length, processed: processed + failed, failed: before + failed }
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
  nextPlace (): number {
    return (this.#sql.nextPlace.get() as { place: number }).place
  }

  /** The lines of this import that one refers to, itself aside. */
  referred (line: number): readonly Referred[] {
    return this.#sql.referred.all(line, line) as Referred[]
  }

  /** Puts lines in the order of writing; those with the same circle refer to each other. */
  order (places: ReadonlyArray<{ readonly line: number, readonly place: number, readonly circle: number | null }>): void {
    this.#db.transaction(() => { for (const place of places) this.#sql.order.run(place) })()
  }

  /** Lines that are not written, in the order of writing. */
  pending (most: number): readonly IndexedLine[] {
    return this.#sql.pending.all(most) as IndexedLine[]
  }

  /** Lines that nothing was done with and that refer to no line but such as are stored, after a place in the order of writing; none of a circle. */
  ready (asked: { readonly after: number, readonly longest: number, readonly most: number }): readonly PlacedLine[] {
    return this.#sql.ready.all(asked) as PlacedLine[]
  }

  /** Lines that were sent to be created and of which it is not known what became of them, after a place in the order of writing. */
  handedOver (after: number, most: number): readonly PlacedLine[] {
    return this.#sql.handedOver.all(after, most) as PlacedLine[]
  }

  /** The lines of a circle. */
  circle (circle: number): readonly IndexedLine[] {
    return this.#sql.circle.all(circle) as IndexedLine[]
  }

  /** Whether those records of a type are noted here that were there before this import wrote one; undefined until it is known. */
  isListed (type: string): boolean | undefined {
    const row = this.#sql.isListed.get(type) as { isListed: number } | undefined
    return row && row.isListed === 1
  }

  /** Notes whether the earlier records of a type are all noted, before this import writes one; what was noted first stays. */
  noteType (type: string, isListed: boolean): void {
    this.#sql.noteType.run(type, isListed ? 1 : 0)
  }

  /** Notes records that were there before. */
  addEarlier (records: readonly Identity[]): void {
    this.#db.transaction(() => { for (const record of records) this.#sql.addEarlier.run(record) })()
  }

  /** Whether a record was noted as one that was there before. */
  isEarlier (record: Identity): boolean {
    return this.#sql.isEarlier.get(record) !== undefined
  }

  /** Notes what is about to be done with lines, before the datastore hears of it. */
  send (lines: ReadonlyArray<{ readonly line: number, readonly plan: Plan }>): void {
    this.#db.transaction(() => { for (const line of lines) this.#sql.send.run(line) })()
  }

  /** Notes how it ended with lines. @returns those that had not ended before */
  end (endings: readonly Ending[]): readonly number[] {
    const ended = this.#db.transaction(() => endings.filter(({ line, isFailed, result }) =>
      this.#sql.end.run({ line, state: isFailed ? states.failed : states.done, result }).changes > 0))()
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

  close (): void {
    this.#db.close()
  }
}

const lineColumns = 'line, at, bytes, type, identity, circle, plan'

function prepared (db: Database.Database): Readonly<Record<'counts' | 'mark' | 'setMark' | 'last' | 'begin' | 'parts' | 'typeOf' | 'taken' | 'twins' | 'add' | 'addReference' | 'setTwins' | 'unordered' | 'isOrdered' | 'nextPlace' | 'referred' | 'order' | 'pending' | 'circle' | 'isListed' | 'addEarlier' | 'isEarlier' | 'noteType' | 'send' | 'end' | 'rows' | 'failures' | 'handedOver' | 'ready', Statement>> {
  return {
    counts: db.prepare('SELECT count(*) AS total, count(*) FILTER (WHERE state >= 2) AS processed, count(*) FILTER (WHERE state = 3) AS failed FROM lines'),
    mark: db.prepare('SELECT 1 FROM marks WHERE name = ?'),
    setMark: db.prepare('INSERT OR IGNORE INTO marks VALUES (?)'),
    last: db.prepare('SELECT line, at, bytes FROM lines ORDER BY line DESC LIMIT 1'),
    begin: db.prepare('INSERT OR REPLACE INTO parts VALUES (@number, @at, @type)'),
    parts: db.prepare('SELECT number, at, type FROM parts ORDER BY number'),
    typeOf: db.prepare('SELECT type FROM lines WHERE line = ?'),
    taken: db.prepare('SELECT 1 FROM lines WHERE identity = ?'),
    twins: db.prepare('SELECT count FROM twins WHERE content = ?'),
    add: db.prepare('INSERT INTO lines (line, at, bytes, type, identity, state, result) VALUES (@line, @at, @bytes, @type, @identity, @state, @result)'),
    addReference: db.prepare('INSERT OR IGNORE INTO refs VALUES (?, ?)'),
    setTwins: db.prepare('INSERT INTO twins VALUES (?, ?) ON CONFLICT (content) DO UPDATE SET count = excluded.count'),
    unordered: db.prepare('SELECT line FROM lines WHERE line > ? AND state < 2 AND place IS NULL ORDER BY line LIMIT ?'),
    isOrdered: db.prepare('SELECT 1 FROM lines WHERE line = ? AND (place IS NOT NULL OR state >= 2)'),
    nextPlace: db.prepare('SELECT coalesce(max(place), 0) + 1 AS place FROM lines WHERE state < 2'),
    referred: db.prepare('SELECT target.line, target.state, target.result, target.type, target.identity FROM refs JOIN lines AS target ON target.identity = refs.identity WHERE refs.line = ? AND target.line <> ?'),
    order: db.prepare('UPDATE lines SET place = @place, circle = @circle WHERE line = @line'),
    pending: db.prepare(`SELECT ${lineColumns} FROM lines WHERE state < 2 ORDER BY place LIMIT ?`),
    ready: db.prepare(`SELECT ${lineColumns}, place FROM lines WHERE state < 2 AND state = 0 AND circle IS NULL AND place > @after AND bytes <= @longest AND NOT EXISTS (
      SELECT 1 FROM refs JOIN lines AS target ON target.identity = refs.identity WHERE refs.line = lines.line AND target.line <> lines.line AND target.state <> 2) ORDER BY place LIMIT @most`),
    handedOver: db.prepare(`SELECT ${lineColumns}, place FROM lines WHERE state < 2 AND state = 1 AND plan = 'created' AND place > ? ORDER BY place LIMIT ?`),
    circle: db.prepare(`SELECT ${lineColumns} FROM lines WHERE circle = ? AND state < 2 ORDER BY line`),
    isListed: db.prepare('SELECT isListed FROM types WHERE type = ?'),
    addEarlier: db.prepare('INSERT OR IGNORE INTO earlier VALUES (?)'),
    isEarlier: db.prepare('SELECT 1 FROM earlier WHERE record = ?'),
    noteType: db.prepare('INSERT OR IGNORE INTO types VALUES (?, ?)'),
    send: db.prepare('UPDATE lines SET state = 1, plan = @plan WHERE line = @line AND state < 2'),
    end: db.prepare('UPDATE lines SET state = @state, result = @result WHERE line = @line AND state < 2'),
    rows: db.prepare('SELECT line, type, result FROM lines WHERE line > ? ORDER BY line LIMIT ?'),
    failures: db.prepare('SELECT line, type, result FROM lines WHERE state = 3 ORDER BY line LIMIT ?')
  }
}
