import type Database from 'better-sqlite3'

/**
 * The tables of an index. `links` holds references by the number of the target line; `refs` those by the target's
 * identity, where no earlier line has it, until all lines are known.
 */
export const schema = `
  CREATE TABLE IF NOT EXISTS lines (
    line INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT, identity TEXT UNIQUE,
    seal TEXT, position INTEGER, cycle INTEGER, state INTEGER NOT NULL, plan TEXT, result BLOB
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

const lineColumns = 'line, at, bytes, type, identity, seal, cycle, plan'

/** All statements on an index. */
export const statementsOn = (db: Database.Database) => ({ ...queriesOn(db), ...changesOn(db) })

function queriesOn (db: Database.Database) {
  return {
    counts: db.prepare(
      'SELECT count(*) AS total, count(*) FILTER (WHERE state IN (2, 3)) AS processed, count(*) FILTER (WHERE state = 3) AS failed FROM lines'
    ),
    mark: db.prepare('SELECT 1 FROM marks WHERE name = ?'),
    last: db.prepare('SELECT line, at, bytes FROM lines ORDER BY line DESC LIMIT 1'),
    parts: db.prepare('SELECT number, at, type FROM parts ORDER BY number'),
    typeOf: db.prepare('SELECT type FROM lines WHERE line = ?'),
    twins: db.prepare('SELECT count FROM twins WHERE content = ?'),
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
      'SELECT target.line, target.state, target.plan, target.type, target.identity FROM links JOIN lines AS target ON target.line = links.target WHERE links.line = ?'
    ),
    result: db.prepare('SELECT result FROM lines WHERE line = ?').pluck(),
    targets: db.prepare('SELECT target FROM links WHERE line = ?').pluck(),
    pending: db.prepare('SELECT line, position FROM lines WHERE state < 2 AND position > ? ORDER BY position LIMIT ?'),
    one: db.prepare(`SELECT ${lineColumns} FROM lines WHERE line = ?`),
    unwritten: db.prepare(
      `SELECT ${lineColumns}, position, state FROM lines WHERE state < 2 AND position > ? ORDER BY position LIMIT ?`
    ),
    targetsOf: db.prepare(
      'SELECT count(*) AS total, count(*) FILTER (WHERE target.state <> 2) AS open FROM links JOIN lines AS target ON target.line = links.target WHERE links.line = ?'
    ),
    cycle: db.prepare(`SELECT ${lineColumns} FROM lines WHERE cycle = ? AND state < 2 ORDER BY line`),
    isListed: db.prepare('SELECT isListed FROM types WHERE type = ?'),
    hasEarlier: db.prepare('SELECT 1 FROM earlier LIMIT 1'),
    isEarlier: db.prepare('SELECT 1 FROM earlier WHERE record = ?'),
    rows: db.prepare('SELECT line, type, result FROM lines WHERE line > ? AND state <> 4 ORDER BY line LIMIT ?'),
    failures: db.prepare('SELECT line, type, result FROM lines WHERE state = 3 ORDER BY line LIMIT ?')
  }
}

function changesOn (db: Database.Database) {
  return {
    setMark: db.prepare('INSERT OR IGNORE INTO marks VALUES (?)'),
    begin: db.prepare('INSERT OR REPLACE INTO parts VALUES (@number, @at, @type)'),
    add: db.prepare(
      'INSERT INTO lines (line, at, bytes, type, identity, seal, position, state, result) VALUES (@line, @at, @bytes, @type, @identity, @seal, @position, @state, @result) ON CONFLICT (identity) DO NOTHING'
    ),
    addReference: db.prepare('INSERT OR IGNORE INTO refs VALUES (?, ?)'),
    addLink: db.prepare('INSERT OR IGNORE INTO links VALUES (?, ?)'),
    setTwins: db.prepare('INSERT INTO twins VALUES (?, ?) ON CONFLICT (content) DO UPDATE SET count = excluded.count'),
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
