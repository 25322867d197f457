import type { Health } from '../health.js'
import type { Position } from '../keys/change-feed.js'
import type { ControlContext } from './context.js'
import type { GatewayRow } from './tables.js'

/** What a gateway says of itself; times are ISO 8601. */
export interface GatewayReport {
  /** Made once by each gateway and never the same as another's. */
  readonly gatewayId: string
  readonly name: string
  readonly version: string
  readonly startedAt: string
  /** How far its copy of the keys has come. */
  readonly position: Position
  /** How what it needs is, by name, as its `/health` says. */
  readonly checks: Readonly<Record<string, Health>>
}

/** A gateway as operators see it. */
export interface Gateway extends Omit<GatewayReport, 'position'> {
  readonly seenAt: string
  /** Whether it said something in the last {@link silentAfterMs}. */
  readonly isConnected: boolean
  /** How many changes its copy has still to take; undefined where it follows another control plane. */
  readonly changesBehind?: number
  /** When it told that it had reached its latest change, by the control plane's clock. */
  readonly reachedAt: string
}

/** Whether a change is in force on the gateways. */
export interface Reach {
  readonly changedAt: string
  readonly gateways: ReadonlyArray<{ readonly name: string, readonly isConnected: boolean, readonly isReached: boolean, /** Known while no later change came. */ readonly afterMs?: number }>
}

/** A gateway that is silent for so long counts as cut off. */
const silentAfterMs = 20_000

/** One that is silent for so long is forgotten. */
const forgottenAfterMs = 7 * 24 * 3_600_000

/** What gateways last said of themselves. */
export class GatewayStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** Takes a report. A late one of the same process does no harm, since a copy only goes forward. */
  async report ({ gatewayId, position, checks, ...said }: GatewayReport): Promise<void> {
    const at = this.#context.now().toISOString()
    const row: GatewayRow = { gatewayId, ...said, ...position, seenAt: at, reachedAt: at, checks: JSON.stringify(checks) }
    await this.#context.db.insertInto('gateways').values(row)
      .onConflict(conflict => conflict.column('gatewayId').doUpdateSet(eb => ({
        ...said,
        ...position,
        seenAt: at,
        checks: row.checks,
        reachedAt: eb.case().when('gateways.seq', '=', position.seq).then(eb.ref('gateways.reachedAt')).else(at).end()
      }))).execute()
  }

  /** All gateways by name. */
  async list (): Promise<Gateway[]> {
    const { db, now } = this.#context
    await db.deleteFrom('gateways').where('seenAt', '<', new Date(now().getTime() - forgottenAfterMs).toISOString()).execute()
    const { feedId, seq } = await db.selectFrom('feed').select(['feedId', 'seq']).executeTakeFirstOrThrow()
    const rows = await db.selectFrom('gateways').selectAll().orderBy('name').orderBy('gatewayId').execute()
    return rows.map(row => toGateway(row, { feedId, seq }, now()))
  }

  /** On which gateways the latest change of an organization or key is in force. */
  async reach (entity: string): Promise<Reach | undefined> {
    const { db, now } = this.#context
    const change = await db.selectFrom('changes').select(['seq', 'at']).where('entity', '=', entity).executeTakeFirst()
    if (change === undefined) return undefined
    const { feedId } = await db.selectFrom('feed').select('feedId').executeTakeFirstOrThrow()
    const rows = await db.selectFrom('gateways').selectAll().orderBy('name').orderBy('gatewayId').execute()
    return {
      changedAt: change.at,
      gateways: rows.map(row => ({
        name: row.name,
        isConnected: isConnected(row, now()),
        isReached: row.feedId === feedId && row.seq >= change.seq,
        ...(row.feedId === feedId && row.seq === change.seq ? { afterMs: Math.max(0, Date.parse(row.reachedAt) - Date.parse(change.at)) } : {})
      }))
    }
  }
}

function toGateway ({ feedId, seq, checks, ...row }: GatewayRow, latest: Position, now: Date): Gateway {
  return {
    ...row,
    checks: JSON.parse(checks),
    isConnected: isConnected(row, now),
    ...(feedId === latest.feedId ? { changesBehind: Math.max(0, latest.seq - seq) } : {})
  }
}

function isConnected ({ seenAt }: Pick<GatewayRow, 'seenAt'>, now: Date): boolean {
  return now.getTime() - Date.parse(seenAt) <= silentAfterMs
}
