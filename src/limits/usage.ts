import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import type { DeepReadonly } from '../config/schema.js'
import { ackMembers, batchHead, type NumberedBatch, type SendBatch } from '../control-plane/outbox/batch.js'
import { idSchema as id } from '../keys/random-text.js'

/** The interaction of a request, named after http://hl7.org/fhir/R4/http.html. `other` was not recognized. */
const usageInteractions = [
  'read',
  'search',
  'history',
  'create',
  'update',
  'patch',
  'delete',
  'batch',
  'transaction',
  'operation',
  'other'
] as const
export type UsageInteraction = typeof usageInteractions[number]

/**
 * The outcome of a request by HTTP status: `ok` below 400, `refused` for 401, 403 and 429, `failed` from 500, and
 * `error` for the rest.
 */
const usageOutcomes = ['ok', 'error', 'refused', 'failed'] as const
export type UsageOutcome = typeof usageOutcomes[number]

/** The members that requests which are counted together have in common. */
const use = {
  tenantId: id,
  mode: Type.Enum(modes),
  keyId: id,
  /**
   * The path of a resource such as `patients`, a FHIR type for raw FHIR, or a fixed word. Never free text from a
   * client's URL.
   */
  resource: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' }),
  interaction: Type.Enum(usageInteractions),
  outcome: Type.Enum(usageOutcomes),
  /** Whether the requests count against the monthly quota: authenticated, and without a response of 401, 429 or 5xx. */
  isCounted: Type.Boolean(),
  /** Whether they are above the monthly quota, as decided when each arrived. */
  isOverage: Type.Boolean()
}

const line = Type.Object({
  ...use,
  /** The hour in which they arrived, in UTC: `2030-01-01T10:00:00Z`. */
  hour: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:00:00Z$' }),
  /** The number of requests. */
  count: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  /** When the last of them arrived, and thus when the key was last used. ISO 8601 with milliseconds. */
  lastAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
}, { additionalProperties: false })

/** The maximum number of lines in a batch, which is then about 800 kB as JSON. */
export const linesPerBatch = 2_000

/** The schema of a {@link UsageBatch} from another process. Unknown members are refused. */
export const usageBatchSchema = Type.Object({
  ...batchHead,
  lines: Type.Array(line, { minItems: 1, maxItems: linesPerBatch })
}, { additionalProperties: false })

/** The number of requests in an hour that have the other members in common. */
export type UsageLine = Readonly<Static<typeof line>>

/** How one request of an authenticated caller is counted after its response. */
export type UsageEvent = Omit<UsageLine, 'hour' | 'count' | 'lastAt'>

/** The counts of a gateway's ledger since the previous batch. */
export type UsageBatch = NumberedBatch<UsageLine>

const monthTotal = Type.Object({
  tenantId: id,
  mode: Type.Enum(modes),
  month: Type.String({ pattern: '^\\d{4}-\\d\\d$' }),
  counted: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
}, { additionalProperties: false })

/** How many requests of a pool counted in a month (UTC) such as `2030-01`. */
export type MonthTotal = Readonly<Static<typeof monthTotal>>

/** An organization's requests of one mode. Each pool has its own monthly quota. */
export type QuotaScope = Pick<MonthTotal, 'tenantId' | 'mode'>

/** The schema of a {@link UsageAck} from the control plane. Unknown members are refused. */
export const usageAckSchema = Type.Object({
  ...ackMembers,
  /** The totals of all gateways, for the organizations and months in an applied batch. */
  months: Type.Optional(Type.Array(monthTotal, { maxItems: linesPerBatch }))
}, { additionalProperties: false })

/** The receipt of a usage batch. */
export type UsageAck = DeepReadonly<Static<typeof usageAckSchema>>

/** Whether a request with this HTTP status counts against the monthly quota: 401, 429 and server errors do not. */
export const isBillable = (status: number): boolean => status !== 401 && status !== 429 && status < 500

/** Sends a batch of usage to the control plane. */
export type SendUsage = SendBatch<UsageLine, UsageAck>
