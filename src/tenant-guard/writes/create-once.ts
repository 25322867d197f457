import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { escapeSearchValue } from '../../fhir/search-escaping.js'
import type { TenantContext } from '../tenant-context.js'
import type { CreateOnce } from '../interaction.js'
import { encodeParameters, formatTenantToken } from '../restrict.js'
import { getIdempotencyTagSystem } from './tag-record.js'
import {
  uncertainOutcomeMessage,
  toCreateFailure,
  createRequest,
  sendCreate,
  toWriteResult,
  toWritten,
  type Written,
  type WrittenRecord
} from './writes.js'

/** The record that a create made, now or before. */
export interface CreateResult extends WrittenRecord {
  /** False for a record that an earlier request made; it is shown in its current state. */
  readonly isNew: boolean
}

/** The same with the datastore's response. */
interface WriteResponse extends CreateResult, Written {}

/** How often a create is repeated when another one with the same tag interferes. */
const maxTries = 6
const tryAgainMs = 50

/** Stores a new record, or finds the one that has the tag: FHIR's conditional create. */
export async function createOnce (
  context: TenantContext,
  { type, resource, tags: codes, seenAt, since }: CreateOnce
): Promise<WriteResponse> {
  const checked = await createRequest(context, { type, resource }, { code: codes[0], seenAt })
  let sought: readonly string[] = codes
  for (let attempt = 1; ; attempt++) {
    const response = await sendCreate(context, { type, resource: checked.resource }, buildCondition(context, sought))
    if (response.status === 201) {
      return { ...toWritten(context, response, { kind: 'create-once', type, sent: checked.resource }), isNew: true }
    }
    const found = response.status === 200 ? toWriteResult(context, response, { kind: 'create-once', type }) : undefined
    if (found !== undefined && getFirstSeenTime(context, found, sought) >= since.getTime()) {
      return { record: found, isNew: false, response, warnings: [] }
    }
    // An earlier tag leads to an old record, or to a second one besides the newer.
    const isOld = (found !== undefined || response.status === 412) && sought.length > 1
    // While the first is being stored, HAPI refuses the others instead of returning it.
    const isEarly = response.status === 409
    if (attempt === maxTries || !(isOld || isEarly)) throw await toCreateFailure(context, response, checked)
    if (isOld) sought = codes.slice(0, 1)
    else await pause(tryAgainMs * attempt)
  }
}

function buildCondition ({ tenant }: TenantContext, codes: readonly string[]): string {
  if (!codes.every(code => /^[\w-]{1,64}$/.test(code))) {
    throw new Error('a mark has 1 to 64 characters of A-Z a-z 0-9 _ -')
  }
  const anyTag = codes.map(code => `${escapeSearchValue(getIdempotencyTagSystem(tenant))}|${code}`).join(',')
  return encodeParameters([['_tag', anyTag], ['_tag', formatTenantToken(tenant)]])
}

/**
 * When the request that made a record was first seen, in milliseconds; Infinity where the datastore stored the tag
 * alone.
 */
function getFirstSeenTime (
  { tenant }: TenantContext,
  { meta: { tag = [] } }: StoredResource,
  codes: readonly string[]
): number {
  const idempotencyTag = tag.find(
    ({ system, code }) => system === getIdempotencyTagSystem(tenant) && codes.includes(code!)
  ) as { display?: string } | undefined
  // A server that ignores a condition would return any record of the tenant.
  if (idempotencyTag === undefined) {
    throw new Failure('BACKEND_ERROR', {
      message: uncertainOutcomeMessage,
      cause: { reason: 'a conditional create showed a record that is not what was sought' }
    })
  }
  const time = Date.parse(idempotencyTag.display ?? '')
  return Number.isNaN(time) ? Infinity : time
}
