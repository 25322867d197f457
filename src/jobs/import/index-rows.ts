import type Database from 'better-sqlite3'
import type { Identity } from './line-ids.js'

/**
 * The states of a line; those after `sent` are final. A blank line is `skipped`: it keeps its number, without a result.
 */
export const states = { waiting: 0, sent: 1, done: 2, failed: 3, skipped: 4 } as const

/** The planned action of a line that was sent to the datastore. */
export type LineAction = 'created' | 'updated'

/** A line that could be read: its position in the input, the record that it is for, and its progress. */
export interface IndexedLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  readonly type: string
  /** The key by which lines refer to it, and from which its id is made. */
  readonly identity: Identity
  /** In the order of writing; null until it is known. */
  readonly position: number | null
  /** The cycle of lines that it is written with; null for a line of none. */
  readonly cycle: number | null
  readonly state: number
  readonly plan: LineAction | null
}

/** A line as it was read; a blank one, or one that could not be read, has no type and no identity. */
export interface NewLine extends Pick<IndexedLine, 'line' | 'at' | 'bytes'>, Partial<Pick<IndexedLine, 'type' | 'identity'>> {
  /** The references that may lead to lines of this import; empty for a line that fails. */
  readonly refersTo: readonly Identity[]
  /**
   * Other possible targets of a reference, unless an earlier line has the identity of the first; a name has no first
   * target.
   */
  readonly alternatives?: ReadonlyArray<{ readonly main?: Identity, readonly others: () => readonly Identity[] }>
  /** Why it can't be stored, encrypted; absent for a valid line. */
  readonly failure?: Buffer
  /** Whether it contains only white space. */
  readonly isBlank?: true
}

/** The outcome of a line. */
export interface LineOutcomeRow { readonly line: number, readonly isFailed: boolean, readonly result: Buffer }

/** A line for the results. */
export interface ResultRow { readonly line: number, readonly type: string | null, readonly result: Buffer | null }

/** A part of the input, with the offset at which it begins. */
export interface Part { readonly number: number, readonly at: number, readonly type: string | null }

/** `total` includes blank lines, so that a missing line is noticed. */
export interface Counts { readonly total: number, readonly processed: number, readonly failed: number }

/**
 * Facts about the complete index: all lines were read, a line refers to a later one, all lines have a position in the
 * order of writing.
 */
export type IndexStage = 'read' | 'hasForwardReferences' | 'ordered'

/** A range of lines. */
export interface LineRange { readonly after: number, readonly upTo: number }

/**
 * The tables of an index. `links` holds references by the number of the target line; `refs` those by the target's
 * identity, where no earlier line has it, until all lines are known.
 */
export const schema = `
  CREATE TABLE IF NOT EXISTS lines (
    line INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT, identity TEXT UNIQUE,
    position INTEGER, cycle INTEGER, state INTEGER NOT NULL, plan TEXT, result BLOB
  );
  CREATE INDEX IF NOT EXISTS pending ON lines(position) WHERE state < 2;
  CREATE INDEX IF NOT EXISTS failures ON lines(line) WHERE state = 3;
  CREATE INDEX IF NOT EXISTS cycles ON lines(cycle) WHERE cycle IS NOT NULL;
  CREATE TABLE IF NOT EXISTS refs (line INTEGER NOT NULL, identity TEXT NOT NULL, PRIMARY KEY (line, identity)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS links (line INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (line, target)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS twins (content TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS parts (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT);
  CREATE TABLE IF NOT EXISTS types (type TEXT PRIMARY KEY, isListed INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS earlier (record TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY) WITHOUT ROWID;`

const lineColumns = 'lines.line, at, bytes, type, identity, position, cycle, state, plan'

/**
 * A parameter in a join of a table that has partial indexes. SQLite looks whether a value of `?` permits one of them,
 * and prepares the statement again for each other value, which takes ten times as long as the query.
 */
const anyValue = '+?'

/** All statements on an index. */
export const prepareStatements = (db: Database.Database) => ({ ...prepareQueries(db), ...prepareChanges(db) })

function prepareQueries (db: Database.Database) {
  return {
    counts: db.prepare(
      'SELECT count(*) AS total, count(*) FILTER (WHERE state IN (2, 3)) AS processed, count(*) FILTER (WHERE state = 3) AS failed FROM lines'
    ),
    mark: db.prepare('SELECT 1 FROM marks WHERE name = ?'),
    last: db.prepare('SELECT line, at, bytes FROM lines ORDER BY line DESC LIMIT 1'),
    parts: db.prepare('SELECT number, at, type FROM parts ORDER BY number'),
    typeOf: db.prepare('SELECT type FROM lines WHERE line = ?'),
    duplicates: db.prepare('SELECT count FROM twins WHERE content = ?'),
    called: db.prepare('SELECT line, position IS NOT NULL OR state >= 2 AS isOrdered FROM lines WHERE identity = ?'),
    unordered: db.prepare(
      'SELECT line FROM lines WHERE line > ? AND state < 2 AND position IS NULL ORDER BY line LIMIT ?'
    ),
    isOrdered: db.prepare('SELECT 1 FROM lines WHERE line = ? AND (position IS NOT NULL OR state >= 2)'),
    nextPosition: db.prepare('SELECT coalesce(max(position), 0) + 1 AS position FROM lines WHERE state < 2'),
    unlinked: db
      .prepare('SELECT line FROM (SELECT line FROM refs ORDER BY line LIMIT ?) ORDER BY line DESC LIMIT 1')
      .pluck(),
    referred: db.prepare(
      `SELECT ${lineColumns} FROM links JOIN lines ON lines.line = links.target WHERE links.line = ${anyValue}`
    ),
    result: db.prepare('SELECT result FROM lines WHERE line = ?').pluck(),
    targets: db.prepare('SELECT target FROM links WHERE line = ?').pluck(),
    pending: db.prepare('SELECT line, position FROM lines WHERE state < 2 AND position > ? ORDER BY position LIMIT ?'),
    one: db.prepare(`SELECT ${lineColumns} FROM lines WHERE line = ?`),
    unwritten: db.prepare(
      `SELECT ${lineColumns} FROM lines WHERE state < 2 AND position > ? ORDER BY position LIMIT ?`
    ),
    targetsOf: db.prepare(
      `SELECT count(*) AS total, count(*) FILTER (WHERE target.state <> 2) AS open FROM links JOIN lines AS target ON target.line = links.target WHERE links.line = ${anyValue}`
    ),
    cycle: db.prepare(`SELECT ${lineColumns} FROM lines WHERE cycle = ? AND state < 2 ORDER BY line`),
    isListed: db.prepare('SELECT isListed FROM types WHERE type = ?'),
    hasEarlier: db.prepare('SELECT 1 FROM earlier LIMIT 1'),
    isEarlier: db.prepare('SELECT 1 FROM earlier WHERE record = ?'),
    rows: db.prepare('SELECT line, type, result FROM lines WHERE line > ? AND state <> 4 ORDER BY line LIMIT ?'),
    failures: db.prepare('SELECT line, type, result FROM lines WHERE state = 3 ORDER BY line LIMIT ?')
  }
}

function prepareChanges (db: Database.Database) {
  return {
    setMark: db.prepare('INSERT OR IGNORE INTO marks VALUES (?)'),
    begin: db.prepare('INSERT OR REPLACE INTO parts VALUES (@number, @at, @type)'),
    add: db.prepare(
      'INSERT INTO lines (line, at, bytes, type, identity, position, state, result) VALUES (@line, @at, @bytes, @type, @identity, @position, @state, @result) ON CONFLICT (identity) DO NOTHING'
    ),
    addReference: db.prepare('INSERT OR IGNORE INTO refs VALUES (?, ?)'),
    addLink: db.prepare('INSERT OR IGNORE INTO links VALUES (?, ?)'),
    setDuplicates: db.prepare(
      'INSERT INTO twins VALUES (?, ?) ON CONFLICT (content) DO UPDATE SET count = excluded.count'
    ),
    link: db.prepare(
      'INSERT OR REPLACE INTO links SELECT refs.line, target.line FROM refs JOIN lines AS target ON target.identity = refs.identity WHERE refs.line <= ?'
    ),
    dropLinked: db.prepare('DELETE FROM refs WHERE line <= ?'),
    orderAsRead: db.prepare(
      'UPDATE lines SET position = line WHERE line > @after AND line <= @upTo AND state < 2 AND position IS NULL'
    ),
    order: db.prepare('UPDATE lines SET position = @position, cycle = @cycle WHERE line = @line'),
    addEarlier: db.prepare('INSERT OR IGNORE INTO earlier VALUES (?)'),
    noteType: db.prepare('INSERT OR IGNORE INTO types VALUES (?, ?)'),
    send: db.prepare('UPDATE lines SET state = 1, plan = @plan WHERE line = @line AND state < 2'),
    end: db.prepare('UPDATE lines SET state = @state, result = @result WHERE line = @line AND state < 2')
  }
}
