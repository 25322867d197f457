import type { Exchange } from '../../backends/observed-backend.js'
import type { JobKind } from '../../jobs/model/job.js'
import type { Mode } from '../../config/mode.js'
import type { Delivery } from '../../events/webhooks/webhook.js'

/**
 * The measurements that the parts of a gateway report, in their own terms. They are independent of the metrics library.
 */

/** A request that got a response, or whose client left before. */
export interface CompletedRequest {
  readonly method: string
  /** The pattern of its route; absent where it led nowhere. */
  readonly route?: string
  /** Its raw FHIR interaction, in R4's terms. */
  readonly interaction?: string
  /** Absent where the client left. */
  readonly status?: number
  readonly mode?: Mode
  readonly refusal?: Refusal
  readonly ms: number
  /** Where the request had to wait for a datastore. */
  readonly waited?: { readonly datastore: string, readonly ms: number }
}

/** Why a request was not worked on. */
export type Refusal = 'key' | 'scope' | 'attempts' | 'minute' | 'in_flight' | 'month'

/** Work on a bulk job that came to its end here. */
interface EndedWork { readonly kind: JobKind, readonly outcome: 'completed' | 'failed' | 'error' | 'interrupted' }

/** Records of a bulk job that were processed since the last report. */
interface DoneRecords { readonly kind: JobKind, readonly processed: number, readonly failed: number }

/** The receiver of measurements. */
export interface Measurements {
  readonly recordRequest: (request: CompletedRequest) => void
  readonly exchanged: (exchange: Exchange) => void
  readonly incident: (incident: { readonly kind: string, readonly datastore: string }) => void
  readonly storedDifferently: (differences: { readonly type: string }) => void
  readonly workEnded: (work: EndedWork) => void
  readonly recordsDone: (records: DoneRecords) => void
  readonly webhookAttempted: (outcome: Delivery['outcome']) => void
}

/** How often something was found where it was looked for first, since the start. */
interface Lookups { readonly hits: number, readonly misses: number }

/** The request of the parts when they are read; each absent where there is no such part. */
export interface GaugeSources {
  readonly keyLookups?: () => Lookups
  readonly keyCopy?: () => { readonly isConnected: boolean; readonly ageSeconds: number | null }
  readonly ownership?: () => Lookups & { readonly records: number }
  readonly ledger?: () => {
    readonly isOk: boolean
    readonly linesInMemory: number
    readonly lostRequests: number
    readonly failedSendings: number
  }
  readonly areCountsShared?: () => boolean
  readonly jobsRunning?: () => number
  /** The age of the oldest event that waits for an enabled webhook. */
  readonly oldestEventSeconds?: () => Promise<number>
  /** Of `/health`, by name: whether each is well. */
  readonly checks?: () => Promise<Readonly<Record<string, boolean>>>
  readonly auditLog?: () => { readonly lines: number; readonly lost: number; readonly isFailing: boolean }
  readonly changeEvents?: () => {
    readonly appended: number
    readonly sent: number
    readonly oldestUnsentSeconds: number
    readonly unresolved: number
    readonly bytes: number
  }
  readonly auditEvents?: () => { readonly stored: number; readonly unsent: number; readonly waiting: number }
}

/** The store of measurements, which also reads gauges. */
export interface Metrics extends Measurements {
  /** From now on, these gauges are read with each scrape. */
  readonly watch: (readings: GaugeSources) => void
}
