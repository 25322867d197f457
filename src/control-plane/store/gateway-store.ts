import { Type, type Static } from 'typebox'
import type { DeepReadonly } from '../../config/schema.js'
import { healthStates } from '../../envelope/health-states.js'
import { positionSchema, type Position } from '../../keys/change-feed.js'
import { idSchema } from '../../keys/random-text.js'
import { dateTimeSchema as time, entitySchema } from './entity-schema.js'
import type { ControlContext } from './context.js'
import type { GatewayRow } from './tables.js'

/** The schema of a {@link GatewayReport}. Unknown members are refused. */
export const gatewayReportSchema = Type.Object({
  /** Unique to each gateway, which creates it once. */
  gatewayId: idSchema,
  name: Type.String({ pattern: '^[\\w.-]{1,100}$' }),
  version: Type.String({ pattern: '^[\\w.+-]{1,100}$' }),
  startedAt: Type.String({ format: 'date-time' }),
  /** The position of its replica of the keys in the change feed. */
  position: positionSchema,
  /** The state of its components by name, as in its `/health`. */
  checks: Type.Record(Type.String({ pattern: '^[A-Za-z]{1,50}$' }), Type.Enum(healthStates), {
    additionalProperties: false,
    maxProperties: 50
  })
}, { additionalProperties: false })

/** A gateway's report of its own state. Times are ISO 8601. */
export type GatewayReport = DeepReadonly<Static<typeof gatewayReportSchema>>

/** The schema of a {@link Gateway}. */
export const gatewaySchema = entitySchema({
  gatewayId: Type.String(),
  name: Type.String(),
  version: Type.String(),
  startedAt: time('When the process started'),
  seenAt: time('When it last reported'),
  /** Whether it reported within the last {@link silentAfterMs}. */
  isConnected: Type.Boolean(),
  changesBehind: Type.Optional(Type.Integer({
    description: 'How many changes its copy still has to apply; absent if it follows another control plane'
  })),
  reachedAt: time('When it applied its latest change'),
  checks: Type.Record(Type.String(), Type.Enum(healthStates), { description: 'The state of what it depends on' })
})

/** A gateway as shown to operators. */
export type Gateway = DeepReadonly<Static<typeof gatewaySchema>>

/** The schema of a {@link KeyPropagation}. */
export const keyPropagationSchema = entitySchema({
  changedAt: time('When the key was last changed'),
  gateways: Type.Array(entitySchema({
    name: Type.String(),
    isConnected: Type.Boolean({ description: 'Whether it reported within the last few seconds' }),
    isReached: Type.Boolean({ description: 'Whether the gateway has applied the change' }),
    afterMs: Type.Optional(
      Type.Integer({ description: 'How long that took, in ms; absent once a later change was made' })
    )
  }))
})

/** Which gateways have applied a change. */
export type KeyPropagation = DeepReadonly<Static<typeof keyPropagationSchema>>

/** A gateway that has not reported for this long counts as disconnected. */
const silentAfterMs = 20_000

/** A gateway that has not reported for this long is deleted. */
const forgottenAfterMs = 7 * 24 * 3_600_000

/** The latest report of each gateway. */
export class GatewayStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** Stores a report. Reports that arrive out of order do no harm, since a replica only moves forward. */
  async report ({ gatewayId, position, checks, ...report }: GatewayReport): Promise<void> {
    const at = this.#context.now().toISOString()
    const row: GatewayRow = {
      gatewayId,
      ...report,
      ...position,
      seenAt: at,
      reachedAt: at,
      checks: JSON.stringify(checks)
    }
    await this.#context.db.insertInto('gateways').values(row)
      .onConflict(conflict => conflict.column('gatewayId').doUpdateSet(eb => ({
        ...report,
        ...position,
        seenAt: at,
        checks: row.checks,
        reachedAt: eb.case().when('gateways.seq', '=', position.seq).then(eb.ref('gateways.reachedAt')).else(at).end()
      }))).execute()
  }

  /** All gateways, ordered by name. */
  async list (): Promise<Gateway[]> {
    const { db, now } = this.#context
    await db
      .deleteFrom('gateways')
      .where('seenAt', '<', new Date(now().getTime() - forgottenAfterMs).toISOString())
      .execute()
    const { feedId, seq } = await db.selectFrom('feed').select(['feedId', 'seq']).executeTakeFirstOrThrow()
    const rows = await db.selectFrom('gateways').selectAll().orderBy('name').orderBy('gatewayId').execute()
    return rows.map(row => toGateway(row, { feedId, seq }, now()))
  }

  /** Which gateways have applied the latest change to an organization or key. Undefined if it does not exist. */
  async findPropagation (entity: string): Promise<KeyPropagation | undefined> {
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
        ...(row.feedId === feedId && row.seq === change.seq
          ? { afterMs: Math.max(0, Date.parse(row.reachedAt) - Date.parse(change.at)) }
          : {})
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
