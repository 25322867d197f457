import { STATUS_CODES } from 'node:http'
import { entityTag, isUnchanged, type ReadConditions } from '../../envelope/conditions.js'
import type { Failure } from '../../envelope/failures.js'
import { outcomeOf } from '../../envelope/operation-outcome.js'
import type { Door } from '../door.js'
import type { FhirAnswer } from '../fhir-answer.js'

/** What one entry of a Bundle came to. */
export interface EntryAnswer {
  readonly outcome: FhirAnswer | { readonly failure: Failure }
  /** Whether the record is shown, where there is one. */
  readonly isShown: boolean
  /** Under which it is answered without the record, as the same read alone. */
  readonly conditions?: ReadConditions | undefined
}

/** The answer to a Bundle of requests, an entry for each in their order: http://hl7.org/fhir/R4/http.html#transaction-response */
export function bundleAnswer (door: Door, type: 'batch-response' | 'transaction-response', answers: readonly EntryAnswer[]): FhirAnswer {
  const entries = answers.map(answer => entryText(door, answer))
  const entry = entries.length === 0 ? '' : `,"entry":[${entries.join(',')}]`
  return { status: 200, body: `{"resourceType":"Bundle","type":"${type}"${entry}}` }
}

function entryText (door: Door, { outcome, isShown, conditions }: EntryAnswer): string {
  if ('failure' in outcome) return `{"response":${JSON.stringify({ status: statusText(outcome.failure.status), outcome: outcomeOf(outcome.failure) })}}`
  const { status, record, body } = outcome
  const version = record?.meta.versionId
  const isKnown = conditions !== undefined && record !== undefined && isUnchanged(conditions, record.meta)
  const response = JSON.stringify({
    status: statusText(isKnown ? 304 : status),
    location: record && `${door.fhirBase}/${record.resourceType}/${record.id}${version === undefined ? '' : `/_history/${version}`}`,
    etag: version && entityTag(version),
    lastModified: record?.meta.lastUpdated
  })
  return isShown && !isKnown && body !== undefined ? `{"resource":${body},"response":${response}}` : `{"response":${response}}`
}

const statusText = (status: number): string => `${status} ${STATUS_CODES[status]}`
