/** Empty control databases of each kind, for tests that hold on all of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { DatabaseLocation } from '../../src/control-plane/store/database.js'
import type { PostgresServer } from '../harness/postgres.js'

/** Makes an empty database that goes with the test. */
export type MakeDatabase = (t: Test) => Promise<DatabaseLocation>

export const makeInMemoryDatabase: MakeDatabase = async () => ({ file: ':memory:' })

/** In a directory of its own, which may hold the other files of a gateway too. */
export const makeFileDatabase: MakeDatabase = async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-control-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return { file: join(directory, 'control.db') }
}

/** In a directory that may hold the other files of a gateway. */
export function makeDatabasesOn (server: PostgresServer): MakeDatabase {
  return async t => ({ ...await makeFileDatabase(t), url: await server.createDatabase() })
}
