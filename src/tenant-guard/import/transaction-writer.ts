import { Failure, type Issue } from '../../envelope/failures.js'
import { toEntityTag } from '../../envelope/preconditions.js'
import { fetchStoredEntries, type StoredEntry } from '../bundles/entries-as-stored.js'
import {
  toFailureCause, parseCheckedJson, verifyAndRememberOwned, getOwnershipScope, reportIncident, unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { filterOwned } from '../reads/fetch-owned.js'
import { sendWrite, rejection } from '../writes/send-write.js'
import { parseLocation } from '../writes/stored-resource.js'
import { warnAboutDifferences } from '../writes/stored-differences.js'
import { ReferenceFailure } from '../writes/references.js'
import type { TaggedRecord } from './tagged-record.js'
import { uncertainOutcomeMessage, preferRepresentation } from '../writes/writes.js'

/** A record that was sent: its error, or what the datastore stored differently. */
export interface RecordOutcome { readonly failure?: Failure, readonly warnings?: readonly Issue[] }

/**
 * The outcome of records that were sent together: each stored, or with an error of its own; or none sent because of
 * some, by their indexes.
 */
export type TransactionResult =
  { readonly written: readonly RecordOutcome[] } | { readonly refused: ReadonlyMap<number, Failure> }

/**
 * The records that refer to what is neither the tenant's nor among them, by their places, each with its failure.
 * @param others records as `Type/id` that would be there by then
 */
export async function findRejectedEntries (
  context: TenantContext,
  records: readonly TaggedRecord[],
  others: Iterable<string> = []
): Promise<ReadonlyMap<number, Failure>> {
  const together = new Set([...records.map(({ name }) => name), ...others])
  const outside = records.map(({ links }) =>
    links.filter(({ record }) => record === undefined || !together.has(record))
  )
  const owned = await filterOwned(
    context,
    new Set(
      outside
        .flat()
        .map(({ record }) => record)
        .filter(record => record !== undefined)
    )
  )
  const refused = outside.map(links => links.filter(({ record }) => record === undefined || !owned.has(record)))
  return new Map(
    [...refused.entries()]
      .filter(([, links]) => links.length > 0)
      .map(([at, links]) => [at, new ReferenceFailure(links)])
  )
}

/** Stores the records of one import. */
export class TransactionWriter {
  readonly #context: TenantContext
  /** Types of which a record came back as stored, the tenant's. */
  readonly #knownTypes = new Set<string>()

  constructor (context: TenantContext) {
    this.#context = context
  }

  /**
   * Stores all of the records or none, in one transaction.
   * @throws {Failure} VALIDATION_ERROR or CONFLICT when the datastore refuses them, 5xx for an error of the datastore
   */
  async write (records: readonly TaggedRecord[]): Promise<TransactionResult> {
    const context = this.#context
    const refused = await findRejectedEntries(context, records)
    if (refused.size > 0) return { refused }
    const response = await sendWrite(context, {
      request: { method: 'POST', path: '', headers: this.#buildHeaders(records), body: buildTransaction(records) },
      changes: records.map(({ type, id, version }) =>
        ({ kind: version === undefined ? 'created' : 'updated', type, id, ...version !== undefined && { before: version } }))
    })
    if (response.status !== 200) {
      // What was believed to be the tenant's may have been deleted through another gateway.
      for (const { record } of records.flatMap(({ links }) => links)) {
        if (record !== undefined) context.ownership.forget(getOwnershipScope(context), record)
      }
      throw toTransactionFailure(response)
    }
    return { written: await this.#confirmEntries(parseResponseEntries(parseCheckedJson(response)), records) }
  }

  /**
   * Whole records, until one of each type was seen: for HAPI, which has to write them all out, and for us it is a good
   * part of the work.
   */
  #buildHeaders (records: readonly TaggedRecord[]): Readonly<Record<string, string>> {
    return records.every(({ type }) => this.#knownTypes.has(type)) ? { prefer: 'return=minimal' } : preferRepresentation
  }

  /** A record created under an id that only the gateway issues is what was sent; all others are checked as stored. */
  async #confirmEntries (
    entries: readonly StoredEntry[],
    records: readonly TaggedRecord[]
  ): Promise<readonly RecordOutcome[]> {
    const context = this.#context
    const made = new Set(
      records.filter((record, at) => this.#knownTypes.has(record.type) && isMade(entries[at], record))
    )
    for (const record of made) context.ownership.remember(getOwnershipScope(context), record.name)
    const open = [...records.keys()].filter(at => !made.has(records[at]!))
    const stored = await fetchStoredEntries(
      context,
      open.map(at => entries[at] ?? {}),
      open.map(at => records[at]!)
    )
    const outcomes = new Map(open.map((at, i) => [at, this.#verifyOutcome(stored[i], records[at]!)] as const))
    return records.map((_, at) => outcomes.get(at) ?? {})
  }

  /** A write is done, even if the response is not readable. */
  #verifyOutcome (stored: StoredEntry | undefined, { type, id, text }: TaggedRecord): RecordOutcome {
    const status = Number.parseInt(String(stored?.response?.status), 10)
    const record = verifyAndRememberOwned(this.#context, stored?.resource, { type, id })
    if (record !== undefined && (status === 200 || status === 201)) {
      this.#knownTypes.add(type)
      // What was fetched afterwards may be a later version.
      if (stored?.isFetched === true) return {}
      return { warnings: warnAboutDifferences(this.#context, JSON.parse(text) as FhirResource, { record }) }
    }
    reportIncident(this.#context, { kind: 'foreign-response', interaction: 'import', type, records: 1 })
    return {
      failure: new Failure('INTERNAL_ERROR', {
        message: uncertainOutcomeMessage,
        cause: { reason: "the answer to an import is not the tenant's record" }
      })
    }
  }
}

/** Whether an entry says, without the record, that it was made. */
function isMade (entry: StoredEntry | undefined, record: TaggedRecord): boolean {
  const { resource, response } = entry ?? {}
  return (
    resource === undefined &&
    Number.parseInt(String(response?.status), 10) === 201 &&
    parseLocation(response?.location, record) !== undefined
  )
}

/** A Bundle of records that are already printed. */
function buildTransaction (records: readonly TaggedRecord[]): string {
  const entries = records.map(record => `{"resource":${record.text},"request":${JSON.stringify(toEntryRequest(record))}}`)
  return `{"resourceType":"Bundle","type":"transaction","entry":[${entries.join(',')}]}`
}

function toEntryRequest ({ name, version }: TaggedRecord) {
  return { method: 'PUT', url: name, ...version !== undefined && { ifMatch: toEntityTag(version) } }
}

function toTransactionFailure (response: Parameters<typeof toFailureCause>[0]): Failure {
  const cause = toFailureCause(response)
  if (response.status === 409 || response.status === 412) {
    return new Failure('CONFLICT', {
      message: 'Another request changed the record at the same time. Send it again.',
      cause
    })
  }
  if ([400, 404, 410, 413, 422].includes(response.status)) return rejection(cause)
  return unexpectedResponse(response, 'a transaction of an import was not answered')
}

function parseResponseEntries (value: unknown): readonly StoredEntry[] {
  const { resourceType, type, entry } = (value ?? {}) as Record<string, unknown>
  return resourceType === 'Bundle' && type === 'transaction-response' && Array.isArray(entry)
    ? (entry as readonly StoredEntry[])
    : []
}
