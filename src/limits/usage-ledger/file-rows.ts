/** The tables of a ledger, and the conversion between its lines and their rows. */
import { monthOf } from '../month.js'
import type { UsageLine } from '../usage.js'

const columns = `
  key_id TEXT NOT NULL, tenant_id TEXT NOT NULL, mode TEXT NOT NULL, hour TEXT NOT NULL, resource TEXT NOT NULL,
  interaction TEXT NOT NULL, outcome TEXT NOT NULL, is_counted INTEGER NOT NULL, is_overage INTEGER NOT NULL,
  count INTEGER NOT NULL, last_at TEXT NOT NULL,
  PRIMARY KEY (key_id, hour, resource, interaction, outcome, is_counted, is_overage)`

export const schema = `
  CREATE TABLE waiting (${columns}) STRICT, WITHOUT ROWID;
  CREATE TABLE totals (${columns}) STRICT, WITHOUT ROWID;
  CREATE INDEX totals_by_age ON totals (hour);
  CREATE TABLE months (
    tenant_id TEXT NOT NULL, mode TEXT NOT NULL, month TEXT NOT NULL,
    own INTEGER NOT NULL DEFAULT 0, told INTEGER NOT NULL DEFAULT 0, others INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, mode, month)) STRICT, WITHOUT ROWID;`

export interface LineRow extends Omit<UsageLine, 'isCounted' | 'isOverage'> {
  readonly isCounted: number
  readonly isOverage: number
}

export const inMonth = ({ tenantId, mode, hour, count }: UsageLine) => ({ tenantId, mode, month: monthOf(hour), count })

export const rowOf = (line: UsageLine): LineRow => ({
  ...line,
  isCounted: Number(line.isCounted),
  isOverage: Number(line.isOverage)
})

export const lineOf = (row: LineRow): UsageLine => ({
  ...row, isCounted: row.isCounted === 1, isOverage: row.isOverage === 1
})

export const shown = `
  key_id AS keyId, tenant_id AS tenantId, mode, hour, resource, interaction, outcome,
  is_counted AS isCounted, is_overage AS isOverage, count, last_at AS lastAt`

export const adding = (table: string) => `
  INSERT INTO ${table} VALUES (:keyId, :tenantId, :mode, :hour, :resource, :interaction, :outcome, :isCounted, :isOverage, :count, :lastAt)
  ON CONFLICT DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)`
