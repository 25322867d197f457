import { STATUS_CODES } from 'node:http'
import { toEntityTag, isUnchanged, type ReadConditions } from '../../envelope/preconditions.js'
import { Failure } from '../../envelope/failures.js'
import { toOperationOutcome, buildWarningsOutcome } from '../../envelope/operation-outcome.js'
import type { TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'

/** The outcome of one entry of a Bundle. */
interface EntryResponse {
  readonly outcome: FhirResponse | { readonly failure: Failure }
  /** Whether the entry only reads: then what was found is its response, and no record is no response. */
  readonly isRead: boolean
  /** Whether the record is shown, where there is one. */
  readonly isShown: boolean
  /** Conditions under which the response leaves out the record, as for the same read alone. */
  readonly conditions?: ReadConditions | undefined
}

/**
 * Characters of all that the entries of one Bundle show; a thousand of them could each read what takes as much as a
 * response may.
 */
const maxResponseCharacters = 67_108_864

/** Writes each response of one Bundle as text as soon as it arrives, so that nothing else of it stays in memory. */
export class EntryWriter {
  #remainingCharacters = maxResponseCharacters

  constructor (readonly context: TenantContext) {}

  /** Whether what another entry reads could not be shown any more, so that it is not to be read. */
  get isFull (): boolean {
    return this.#remainingCharacters <= 0
  }

  /** Over the limit, a write responds without its record, since it is done, and a read is refused. */
  writeEntry (response: EntryResponse): string {
    const text = formatEntry(this.context, response)
    if (!response.isShown || 'failure' in response.outcome) return text
    this.#remainingCharacters -= text.length
    if (this.#remainingCharacters >= 0) return text
    return formatEntry(this.context, response.isRead ? responseTooLarge : { ...response, isShown: false })
  }
}

/** The response to an entry that reads and was not performed, or not shown. */
export const responseTooLarge: EntryResponse = {
  outcome: {
    failure: new Failure('PAYLOAD_TOO_LARGE', {
      message:
        'The other entries of this Bundle already read as much as one response can show. Send this entry in another Bundle.'
    })
  },
  isRead: true,
  isShown: false
}

/**
 * The response to a Bundle of requests, an entry for each in their order:
 * http://hl7.org/fhir/R4/http.html#transaction-response
 */
export function buildBundleResponse (
  type: 'batch-response' | 'transaction-response',
  entries: readonly string[]
): FhirResponse {
  const entry = entries.length === 0 ? '' : `,"entry":[${entries.join(',')}]`
  return { status: 200, body: `{"resourceType":"Bundle","type":"${type}"${entry}}` }
}

function formatEntry (context: TenantContext, { outcome, isShown, conditions }: EntryResponse): string {
  if ('failure' in outcome) {
    return `{"response":${JSON.stringify({ status: formatStatusLine(outcome.failure.status), outcome: toOperationOutcome(outcome.failure) })}}`
  }
  const { status, record, body, warnings = [] } = outcome
  const version = record?.meta.versionId
  const isKnown = conditions !== undefined && record !== undefined && isUnchanged(conditions, record.meta)
  const response = JSON.stringify({
    status: formatStatusLine(isKnown ? 304 : status),
    location:
      record &&
      `${context.fhirBase}/${record.resourceType}/${record.id}${version === undefined ? '' : `/_history/${version}`}`,
    etag: version && toEntityTag(version),
    lastModified: record?.meta.lastUpdated,
    outcome: warnings.length > 0 ? buildWarningsOutcome(warnings) : undefined
  })
  return isShown && !isKnown && body !== undefined
    ? `{"resource":${body.toString()},"response":${response}}`
    : `{"response":${response}}`
}

const formatStatusLine = (status: number): string => `${status} ${STATUS_CODES[status]}`
