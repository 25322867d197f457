/** The tables by version. */
export const migrations = [`
  CREATE TABLE resource (
    pk INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    UNIQUE (type, id)
  );
  CREATE INDEX resource_by_type ON resource (type, deleted);

  CREATE TABLE version (
    pk INTEGER NOT NULL REFERENCES resource,
    version INTEGER NOT NULL,
    method TEXT NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (pk, version)
  );

  CREATE TABLE link (source INTEGER NOT NULL REFERENCES resource, type TEXT NOT NULL, id TEXT NOT NULL);
  CREATE INDEX link_by_source ON link (source);
  CREATE INDEX link_by_target ON link (type, id);

  CREATE TABLE search_index (pk INTEGER NOT NULL REFERENCES resource, parameter TEXT NOT NULL, system TEXT, value TEXT, low REAL, high REAL);
  CREATE INDEX search_index_by_pk ON search_index (pk, parameter, value, low);
  CREATE INDEX search_index_by_value ON search_index (parameter, value, system, pk);
  CREATE INDEX search_index_by_range ON search_index (parameter, low, high, pk) WHERE low IS NOT NULL;
`]
