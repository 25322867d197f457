import Database from 'better-sqlite3'
import type { QuotaScope } from '../usage.js'

/**
 * How many requests of a pool counted in a month: at this gateway, and at all others as last reported by the control
 * plane.
 */
export interface MonthCount { readonly own: number, readonly others: number }

/** A {@link MonthCount} in the file, with the name of the last flush that is included; empty if there is none. */
export interface StoredMonthUsage extends MonthCount { readonly written: string }

/** How long to wait for a lock. Readers only wait while another connection opens the file. */
const busyMs = 50

/** Reads monthly counts from a ledger's file, while another thread writes to it. Neither waits for the other. */
export class MonthlyUsageReader {
  readonly #path: string
  #database: Database.Database | undefined
  #month: Database.Statement | undefined

  constructor (path: string) {
    this.#path = path
  }

  /** @throws if the file can't be read or does not exist yet */
  read ({ tenantId, mode }: QuotaScope, month: string): StoredMonthUsage {
    try {
      this.#database ??= new Database(this.#path, { readonly: true, fileMustExist: true, timeout: busyMs })
      // One statement, so that count and name are consistent.
      this.#month ??= this.#database.prepare(`
        SELECT series.written, coalesce(months.own, 0) AS own, coalesce(months.others, 0) AS others FROM series
        LEFT JOIN months ON months.tenant_id = ? AND months.mode = ? AND months.month = ?`)
      return this.#month.get(tenantId, mode, month) as StoredMonthUsage
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Closes the file. The next read reopens it. */
  close (): void {
    this.#database?.close()
    this.#database = undefined
    this.#month = undefined
  }
}
