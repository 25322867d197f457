import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { TestGateway } from './gateway.js'

/**
 * Everything that the control database of a gateway holds, by table; sessions are left out, since a request prolongs
 * its own.
 */
export function dumpControlDatabase ({
  dataDirectory
}: Pick<TestGateway, 'dataDirectory'>): Readonly<Record<string, readonly unknown[]>> {
  const db = new Database(join(dataDirectory, 'control.db'), { readonly: true })
  try {
    const tables = db
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('sessions', 'gateways') ORDER BY name"
      )
      .pluck()
      .all() as string[]
    return Object.fromEntries(tables.map(table => [table, db.prepare(`SELECT * FROM "${table}"`).all()]))
  } finally {
    db.close()
  }
}
