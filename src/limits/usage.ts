import { Type, type Static } from 'typebox'
import { modes, type Mode } from '../mode.js'

/** What a request wanted, in known words: those of http://hl7.org/fhir/R4/http.html as far as they are told apart here; `other` was not understood. */
const usageInteractions = ['read', 'search', 'history', 'create', 'update', 'patch', 'delete', 'batch', 'transaction', 'operation', 'other'] as const
export type UsageInteraction = typeof usageInteractions[number]

/** How a request ended: `ok` below 400, `refused` 401, 403 and 429, `failed` from 500 on, `error` the other ones of the client. */
const usageOutcomes = ['ok', 'error', 'refused', 'failed'] as const
export type UsageOutcome = typeof usageOutcomes[number]

const id = Type.String({ pattern: '^[\\w-]{1,64}$' })

/** What requests have in common that are counted together. */
const use = {
  tenantId: id,
  mode: Type.Enum(modes),
  keyId: id,
  /** A group's path such as `patients`, a FHIR type for raw FHIR, or a fixed word; never something out of a client's URL. */
  resource: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' }),
  interaction: Type.Enum(usageInteractions),
  outcome: Type.Enum(usageOutcomes),
  /** Whether the requests count against the month: authenticated, and not refused with 401, 429 or 5xx. */
  isCounted: Type.Boolean(),
  /** Whether they came past the month's allowance, as was decided when each came in. */
  isOverage: Type.Boolean()
}

const line = Type.Object({
  ...use,
  /** The hour in UTC in which they came in: `2030-01-01T10:00:00Z`. */
  hour: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:00:00Z$' }),
  /** How many. */
  count: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  /** When the last of them came in, ISO 8601 with milliseconds: the key was used at this time. */
  lastAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
}, { additionalProperties: false })

/** The most lines of one batch, which is then about 800 kB as JSON. */
export const linesPerBatch = 2_000

/** A {@link UsageBatch} as it comes from another process, for who must check it: nothing else is in it. */
export const usageBatchSchema = Type.Object({
  /** The series that the number belongs to. It is made, unguessable, with the gateway's ledger file, and again when series parted. */
  ledgerId: id,
  /** The place in the series: 1, 2, 3 … without a gap. */
  number: Type.Integer({ minimum: 1 }),
  /** Made with the content, which never changes afterwards: the same id is the same batch. */
  batchId: id,
  lines: Type.Array(line, { minItems: 1, maxItems: linesPerBatch })
}, { additionalProperties: false })

/** How many requests there were in an hour that have all of this in common. */
export type UsageLine = Readonly<Static<typeof line>>

/** One request that was answered to a known caller, as it is counted. */
export type Use = Omit<UsageLine, 'hour' | 'count' | 'lastAt'>

/** What a gateway's ledger counted since the batch before. One that is sent again, for want of a receipt, is the same one. */
export interface UsageBatch extends Pick<Static<typeof usageBatchSchema>, 'ledgerId' | 'number' | 'batchId'> {
  readonly lines: readonly UsageLine[]
}

/**
 * Where the control plane stands in the series of a batch, after it applied it, or passed over it because it was applied
 * before, or refused it because one before it is missing: the last batch that it has, or 0 and an empty id when it has none.
 */
export interface UsageReceipt {
  readonly number: number
  readonly batchId: string
  /** What all gateways together have told of the months of the organizations in an applied batch. */
  readonly months?: readonly MonthTotal[]
}

/** An organization's requests of one mode, of which a month's allowance is a number. */
export interface Pool {
  readonly tenantId: string
  readonly mode: Mode
}

/** How many requests of a pool counted in a month, in UTC, such as `2030-01`. */
export interface MonthTotal extends Pool {
  readonly month: string
  readonly counted: number
}

/** Whether a request with this answer counts against the month: what was refused with 401 or 429, or failed on our side, does not. */
export const isCounted = (status: number): boolean => status !== 401 && status !== 429 && status < 500

/**
 * Gives a batch to the control plane. Repeating it does no harm: each is applied exactly once, whoever sends it how often.
 * A refusal is a receipt as well, from which the ledger learns where to go on; so only what never arrived, or what nobody
 * knows whether it did, throws, and is sent again later. The signal aborts when the sender has waited long enough or stops.
 */
export type SendUsage = (batch: UsageBatch, signal: AbortSignal) => Promise<UsageReceipt>
