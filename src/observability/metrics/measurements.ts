import type { Exchange } from '../../backends/measured-backend.js'
import type { JobKind } from '../../jobs/model/job.js'
import type { Mode } from '../../config/mode.js'

/** What the parts of a gateway tell of their work, in their own words. They know nothing of how it is kept. */

/** A request that was answered, or whose client left before. */
export interface CompletedRequest {
  readonly method: string
  /** The pattern of its route; absent where it led nowhere. */
  readonly route?: string
  /** What it asked of raw FHIR, in words of R4. */
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
interface EndedWork { readonly kind: JobKind, readonly outcome: 'completed' | 'failed' | 'trouble' | 'left' }

/** Records of a bulk job that were done since it was last told. */
interface DoneRecords { readonly kind: JobKind, readonly processed: number, readonly failed: number }

/** Who is told when something happened. */
export interface Measurements {
  readonly recordRequest: (request: CompletedRequest) => void
  readonly exchanged: (exchange: Exchange) => void
  readonly incident: (incident: { readonly kind: string, readonly datastore: string }) => void
  readonly workEnded: (work: EndedWork) => void
  readonly recordsDone: (records: DoneRecords) => void
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
  /** Of `/health`, by name: whether each is well. */
  readonly checks?: () => Promise<Readonly<Record<string, boolean>>>
  readonly auditLog?: () => { readonly lines: number; readonly lost: number; readonly isFailing: boolean }
  readonly auditEvents?: () => { readonly stored: number; readonly unsent: number; readonly waiting: number }
}

/** Where measurements are kept and read. */
export interface Metrics extends Measurements {
  /** From now on these are asked when they are read. */
  readonly watch: (readings: GaugeSources) => void
}
