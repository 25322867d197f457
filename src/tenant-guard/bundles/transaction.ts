import { toFailure } from '../../envelope/error-handlers.js'
import { Failure, type FailureCode } from '../../envelope/failures.js'
import { toAccess, toReference, type Access } from '../access.js'
import { printJson } from '../../json/json.js'
import { logFailure, isRead, type Perform } from './batch.js'
import { buildBundleResponse, EntryWriter, responseTooLarge } from './bundle-response.js'
import { fetchStoredEntries, type StoredEntry } from './entries-as-stored.js'
import { withEntryPath } from './entry-path.js'
import {
  toFailureCause,
  parseJson,
  mayRead,
  notFound,
  getOwnershipScope,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { BundleEntry, Transaction } from '../interaction.js'
import { mapConcurrently } from '../map-concurrently.js'
import { filterOwned } from '../reads/fetch-owned.js'
import { authorize } from '../policy.js'
import { resolveCriteriaPlaceholders } from './criteria.js'
import { resolveReferences } from './transaction-references.js'
import { toPlannedChange, prepareWrite, type Write } from './transaction-writes.js'
import { toOutcomes } from './write-outcomes.js'
import { sendWrite } from '../writes/send-write.js'
import { uncertainOutcomeMessage, preferRepresentation } from '../writes/writes.js'

/**
 * Performs all entries or none. The writes go to the datastore as one transaction, after each was decided on as if it
 * came alone; the reads see what the writes left, as http://hl7.org/fhir/R4/http.html#trules orders them.
 */
export async function transaction (
  context: TenantContext,
  request: Transaction,
  perform: Perform
): Promise<FhirResponse> {
  const { showsWritten } = request
  const entries = resolveCriteriaPlaceholders(request.entries, context.backend.baseUrl)
  for (const [at, { interaction }] of entries.entries()) authorizeEntry(interaction, at)
  await requireOwnRecords(context, entries)
  const writes = await mapConcurrently(entries, async (entry, at) =>
    isRead(entry)
      ? undefined
      : await prepareWrite(context, entry).catch((error: unknown) => {
        throw withEntryPath(error, [at])
      })
  )
  const checked = await resolveReferences(context, mergeConditionalCreates(writes), { ...request, entries })
  const written = await performWrites(context, checked.writes, checked.believed)
  const done = checked.writes.flatMap((write, at) =>
    write === undefined ? [] : [{ at, entry: entries[at]!, write, response: written.get(at)! }]
  )
  for (const each of done) context.onAccess?.(toWriteAccess(each))
  if (done.some(isLost)) {
    throw withEntryPath(
      new Failure('CONFLICT', { message: lost }),
      done.filter(isLost).map(({ at }) => at)
    )
  }
  const texts = new EntryWriter(context)
  const entryResponses = await mapConcurrently(entries, async (entry, at) => {
    const response = written.get(at)
    if (response !== undefined) {
      const isShown = showsWritten && mayRead(context, entry.interaction.type)
      return texts.writeEntry({ outcome: response, isRead: false, isShown })
    }
    if (texts.isFull) return texts.writeEntry(responseTooLarge)
    // The writes are done by now, so a read that fails fails alone.
    return texts.writeEntry({
      outcome: await perform(entry.interaction).catch((error: unknown) => logFailure(context, toFailure(error))),
      isRead: true,
      isShown: true,
      conditions: entry.conditions
    })
  })
  return buildBundleResponse('transaction-response', entryResponses)
}

interface Performed {
  readonly at: number
  readonly entry: BundleEntry
  readonly write: Write
  readonly response: FhirResponse
}

/**
 * An update by criteria that none met, for which the datastore found one that came in the meantime: it is as it came.
 */
const isLost = ({ write: { isUpdate = false }, response: { status } }: Performed): boolean => isUpdate && status === 200
const lost =
  'Everything was done except conditional updates whose record another write created at the same time. Check the records before you repeat anything, and send those updates separately.'

/** Criteria are resolved, so the access names the record of the write that they became. */
function toWriteAccess (done: Performed): Access {
  const { entry: { interaction }, write, response: { record } } = done
  const request = { ...interaction, id: write.id ?? record?.id }
  return isLost(done)
    ? { ...toAccess(request, []), failure: 'CONFLICT' }
    : toAccess(request, record === undefined ? [] : [toReference(record)])
}

function authorizeEntry (interaction: BundleEntry['interaction'], at: number): void {
  try {
    authorize(interaction)
  } catch (error) {
    throw withEntryPath(error, [at])
  }
}

/** Every record that an entry names must be the tenant's, or nothing is done. */
async function requireOwnRecords (context: TenantContext, entries: readonly BundleEntry[]): Promise<void> {
  const named = entries.map(({ interaction }) =>
    'id' in interaction ? `${interaction.type}/${interaction.id}` : undefined
  )
  const owned = await filterOwned(context, named.filter(record => record !== undefined))
  const missing = [...named.entries()]
    .filter(([, record]) => record !== undefined && !owned.has(record))
    .map(([at]) => at)
  if (missing.length > 0) throw withEntryPath(notFound(), missing)
}

/** @returns the response of each write, by the place of its entry */
async function performWrites (
  context: TenantContext,
  writes: ReadonlyArray<Write | undefined>,
  believed: readonly string[]
): Promise<ReadonlyMap<number, FhirResponse>> {
  const responses = new Map<number, FhirResponse>()
  const sent = [...writes.entries()].filter((item): item is [number, Write] => item[1] !== undefined)
  for (const [at] of sent.filter(([, { request }]) => request === undefined)) responses.set(at, { status: 204 })
  const performed = sent.filter(([, { request, sameAs }]) => request !== undefined && sameAs === undefined)
  if (performed.length === 0) return responses
  requireDistinct(performed)
  for (const [, { type, id, request }] of performed) {
    if (request?.method === 'DELETE') context.ownership.forget(getOwnershipScope(context), `${type}/${id}`)
  }
  const bundle = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: performed.map(([, { placeholder: fullUrl, resource, request }]) => ({ fullUrl, resource, request }))
  }
  const response = await sendWrite(context, {
    request: { method: 'POST', path: '', headers: preferRepresentation, body: printJson(bundle) },
    changes: performed.map(([, write]) => toPlannedChange(write))
  })
  if (response.status !== 200) {
    for (const record of believed) context.ownership.forget(getOwnershipScope(context), record)
    throw toEntryFailure(response, performed)
  }
  const writesOf = performed.map(([, { type, id, request }]) => ({ type, id, isDelete: request?.method === 'DELETE' }))
  const stored = await fetchStoredEntries(
    context,
    parseResponseEntries(parseJson(response, uncertainOutcomeMessage)),
    writesOf
  )
  // Which entry a response belongs to is known by their order alone.
  if (stored.length !== performed.length) {
    throw new Failure('INTERNAL_ERROR', {
      message: uncertainOutcomeMessage,
      cause: { reason: 'the answer to a transaction does not have an entry for each write' }
    })
  }
  const outcomes = toOutcomes(context, performed.map(([, write], index) => ({ write, stored: stored[index] })))
  for (const [index, [at]] of performed.entries()) responses.set(at, outcomes[index]!)
  for (const [at, { sameAs }] of sent) {
    if (sameAs !== undefined) responses.set(at, { ...responses.get(sameAs)!, status: 200, warnings: [] })
  }
  return responses
}

/** Writes with the places of their entries. */
type NumberedEntry = ReadonlyArray<readonly [at: number, write: Write]>

function requireDistinct (writes: NumberedEntry): void {
  const seen = new Set<string>()
  const again = writes.filter(([, write]) => {
    const name = getWriteTarget(write)
    return name !== undefined && seen.size === seen.add(name).size
  })
  if (again.length > 0) {
    throw withEntryPath(
      new Failure('BAD_REQUEST', {
        message:
          'A transaction can write each record only once: by one entry for an id, and for the same criteria by entries with the same content.'
      }),
      again.map(([at]) => at)
    )
  }
}

/** One record and no other; undefined where it is not known which. */
function getWriteTarget ({ type, id, request }: Write): string | undefined {
  if (id !== undefined) return `${type}/${id}`
  return request?.ifNoneExist === undefined ? undefined : `${type}?${request.ifNoneExist}`
}

/**
 * The writes with each conditional create that repeats one before it, under the same criteria and with the same
 * content, marked as the same: the datastore would store one record and respond with fewer entries than were sent.
 */
function mergeConditionalCreates (writes: ReadonlyArray<Write | undefined>): ReadonlyArray<Write | undefined> {
  const first = new Map<string, number>()
  return writes.map((write, at) => {
    if (write?.request?.ifNoneExist === undefined || write.isUpdate === true) return write
    const name = `${getWriteTarget(write)} ${printJson(write.resource)}`
    const sameAs = first.get(name)
    if (sameAs !== undefined) return { ...write, sameAs }
    first.set(name, at)
    return write
  })
}

/** Of which entry the datastore speaks is known where it can be of one alone. */
function toEntryFailure (response: Parameters<typeof toFailureCause>[0], writes: NumberedEntry): unknown {
  const failure = toTransactionFailure(response, writes)
  const meant = writes.filter(([, write]) => couldMean[failure.code]?.(write) ?? true)
  return meant.length === 1 ? withEntryPath(failure, meant.map(([at]) => at)) : failure
}

/** Which writes can be what a refusal is about. */
const couldMean: Readonly<Partial<Record<FailureCode, (write: Write) => boolean>>> = {
  PRECONDITION_FAILED: ({ isVersioned }) => isVersioned,
  CONFLICT: ({ request }) =>
    request?.method === 'DELETE' || request?.ifMatch !== undefined || request?.ifNoneExist !== undefined
}

function toTransactionFailure (response: Parameters<typeof toFailureCause>[0], writes: NumberedEntry): Failure {
  const cause = toFailureCause(response)
  if (response.status === 409 || response.status === 412) {
    if (writes.some(([, { isVersioned }]) => isVersioned)) return new Failure('PRECONDITION_FAILED', { cause })
    return new Failure('CONFLICT', {
      message:
        'Nothing was done: other records still refer to a record that would be deleted, a record was changed meanwhile, several records match the criteria of an entry, or a record that would be created does not match its own criteria.',
      cause
    })
  }
  if ([400, 404, 410, 422].includes(response.status)) {
    return new Failure('VALIDATION_ERROR', {
      message:
        'Nothing was done: the datastore rejected one of these resources by rules of its own. $validate lists what it has against each.',
      cause
    })
  }
  return unexpectedResponse(response, 'a transaction was not answered')
}

function parseResponseEntries (value: unknown): readonly StoredEntry[] {
  const { resourceType, type, entry = [] } = (value ?? {}) as Record<string, unknown>
  const isResponse = resourceType === 'Bundle' && type === 'transaction-response' && Array.isArray(entry)
  return isResponse ? entry as readonly StoredEntry[] : []
}
