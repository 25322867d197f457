import Database from 'better-sqlite3'
import type { Pool } from '../usage.js'

/** How many requests of a pool counted in a month: at this gateway, and at all others as far as the control plane has told. */
export interface MonthCount { readonly own: number, readonly others: number }

/** A {@link MonthCount} as it is in the file, and the name of the last deposit that is in it. */
export interface WrittenMonth extends MonthCount { readonly written: string }

/** A reader waits for nothing but the start of another one. */
const busyMs = 50

/** Reads what counted in a month out of the file of a ledger, which is written by another thread meanwhile: neither waits for the other. */
export class LedgerMonths {
  readonly #path: string
  #database: Database.Database | undefined
  #month: Database.Statement | undefined

  constructor (path: string) {
    this.#path = path
  }

  /** @throws when the file can't be read, or isn't there yet */
  read ({ tenantId, mode }: Pool, month: string): WrittenMonth {
    try {
      this.#database ??= new Database(this.#path, { readonly: true, fileMustExist: true, timeout: busyMs })
      // One statement, so that count and name are of the same moment.
      this.#month ??= this.#database.prepare(`
        SELECT series.written, coalesce(months.own, 0) AS own, coalesce(months.others, 0) AS others FROM series
        LEFT JOIN months ON months.tenant_id = ? AND months.mode = ? AND months.month = ?`)
      return this.#month.get(tenantId, mode, month) as WrittenMonth
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Lets go of the file; the next reading opens what is then there. */
  close (): void {
    this.#database?.close()
    this.#database = undefined
    this.#month = undefined
  }
}
