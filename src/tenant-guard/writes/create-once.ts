import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { escaped } from '../../fhir/search-escaping.js'
import type { TenantContext } from '../tenant-context.js'
import type { CreateOnce } from '../interaction.js'
import { encodeParameters, tenantToken } from '../restrict.js'
import { idempotencyTagSystem } from './stamp.js'
import {
  uncertainOutcomeMessage,
  notCreated,
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

/** How often a create is repeated when another one with the same mark interferes. */
const maxTries = 6
const tryAgainMs = 50

/** Stores a new record, or finds the one that carries a mark: FHIR's conditional create. */
export async function createOnce (
  context: TenantContext,
  { type, resource, marks, seenAt, since }: CreateOnce
): Promise<WriteResponse> {
  const checked = await createRequest(context, { type, resource }, { code: marks[0], seenAt })
  let sought: readonly string[] = marks
  for (let attempt = 1; ; attempt++) {
    const response = await sendCreate(context, { type, resource: checked.resource }, conditionOf(context, sought))
    if (response.status === 201) {
      return { ...toWritten(context, response, { kind: 'create-once', type, sent: checked.resource }), isNew: true }
    }
    const found = response.status === 200 ? toWriteResult(context, response, { kind: 'create-once', type }) : undefined
    if (found !== undefined && markTime(context, found, sought) >= since.getTime()) {
      return { record: found, isNew: false, response, warnings: [] }
    }
    // An earlier mark leads to an old record, or to a second one besides the newer.
    const isOld = (found !== undefined || response.status === 412) && sought.length > 1
    // While the first is being stored, HAPI refuses the others instead of returning it.
    const isEarly = response.status === 409
    if (attempt === maxTries || !(isOld || isEarly)) throw await notCreated(context, response, checked)
    if (isOld) sought = marks.slice(0, 1)
    else await pause(tryAgainMs * attempt)
  }
}

function conditionOf ({ tenant }: TenantContext, marks: readonly string[]): string {
  if (!marks.every(mark => /^[\w-]{1,64}$/.test(mark))) {
    throw new Error('a mark has 1 to 64 characters of A-Z a-z 0-9 _ -')
  }
  const anyMark = marks.map(mark => `${escaped(idempotencyTagSystem(tenant))}|${mark}`).join(',')
  return encodeParameters([['_tag', anyMark], ['_tag', tenantToken(tenant)]])
}

/**
 * When the request that made a record was first seen, in milliseconds; Infinity where the datastore stored the mark
 * alone.
 */
function markTime (
  { tenant }: TenantContext,
  { meta: { tag = [] } }: StoredResource,
  marks: readonly string[]
): number {
  const mark = tag.find(({ system, code }) => system === idempotencyTagSystem(tenant) && marks.includes(code!)) as
    { display?: string } | undefined
  // A server that ignores a condition would return any record of the tenant.
  if (mark === undefined) {
    throw new Failure('BACKEND_ERROR', {
      message: uncertainOutcomeMessage,
      cause: { reason: 'a conditional create showed a record that is not what was sought' }
    })
  }
  const time = Date.parse(mark.display ?? '')
  return Number.isNaN(time) ? Infinity : time
}
