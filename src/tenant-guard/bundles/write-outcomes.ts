import { Failure } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import { toReference } from '../access.js'
import type { FhirResponse } from '../fhir-response.js'
import { rewriteUrls } from '../public-urls.js'
import { reportIncident, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { warnAboutDifferences } from '../writes/stored-differences.js'
import { parseLocation } from '../writes/stored-resource.js'
import { uncertainOutcomeMessage } from '../writes/writes.js'
import type { StoredEntry } from './entries-as-stored.js'
import type { Write } from './transaction-writes.js'

/** A write, and the datastore's entry about it. */
interface SentWrite { readonly write: Write, readonly stored: StoredEntry | undefined }

/**
 * The outcome of each write, with warnings of what was stored differently.
 * @throws {Failure} INTERNAL_ERROR when the datastore's response is not about the tenant's record
 */
export function toOutcomes (context: TenantContext, sent: readonly SentWrite[]): readonly FhirResponse[] {
  const outcomes = sent.map(({ write, stored }) => toWriteOutcome(context, stored, write))
  const placeholders = new Map<string, string>()
  for (const [index, { write: { placeholder } }] of sent.entries()) {
    const { record } = outcomes[index]!
    if (placeholder !== undefined && record !== undefined) placeholders.set(placeholder, toReference(record))
  }
  return outcomes.map((outcome, index) => {
    const each = sent[index]!
    if (!isAsWritten(outcome, each)) return outcome
    const warnings = warnAboutDifferences(context, each.write.resource!, { record: outcome.record!, placeholders })
    return { ...outcome, warnings }
  })
}

/** Whether a response has the version that a write produced, not what its criteria found or a later version. */
function isAsWritten (
  { status, record }: FhirResponse,
  { write: { resource, request }, stored }: SentWrite
): boolean {
  if (record === undefined || resource === undefined) return false
  if (request?.ifNoneExist !== undefined && status === 200) return false
  return (
    stored?.isFetched !== true ||
    parseLocation(stored.response?.location, { type: record.resourceType })?.version === record.meta.versionId
  )
}

/** The outcome of a write. The write is done, even if the response is not readable. */
function toWriteOutcome (
  context: TenantContext,
  stored: StoredEntry | undefined,
  { type, id, request }: Write
): FhirResponse {
  const status = Number.parseInt(String(stored?.response?.status), 10)
  if (request?.method === 'DELETE' && (status === 200 || status === 204)) return { status: 204 }
  const record = verifyAndRememberOwned(context, stored?.resource, { type, ...(id !== undefined && { id }) })
  if (record === undefined || (status !== 200 && status !== 201)) {
    reportIncident(context, { kind: 'foreign-response', interaction: 'transaction', type, records: 1 })
    throw new Failure('INTERNAL_ERROR', {
      message: uncertainOutcomeMessage,
      cause: { reason: "the answer to a transaction is not the tenant's record" }
    })
  }
  return { status, record, body: rewriteUrls(context, printJson(record)) }
}
