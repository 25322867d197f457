import { setTimeout as pauseFor } from 'node:timers/promises'
import type { BackendResponse } from '../../backends/backend.js'
import { printJson } from '../../json/json.js'
import { isSubsetted, type StoredResource } from '../../mappings/fhir.js'
import { failureCause, jsonOf } from '../../tenant-guard/tenant-context.js'
import { isId } from '../../fhir/names.js'
import type { Tenant } from '../../tenant-guard/tenant.js'
import { mayHaveSucceeded, type SendAny } from '../../tenant-guard/retry.js'
import { ownerOf } from './walk-owner.js'

/** How one record is adopted. */
export interface Adoption {
  readonly send: SendAny
  readonly tenant: Tenant
  /** The record in its current state; undefined when it is gone or does not meet the operator's criteria any more. */
  readonly again: (record: StoredResource) => Promise<StoredResource | undefined>
  readonly pause?: (ms: number) => Promise<unknown>
}

/**
 * The outcome for a record: `gone` also if it no longer meets the criteria, `own`, `foreign` and `unclear` if it has a
 * tag of the tenant system by now. A failure has a reason, without any text of the record.
 */
type AdoptionOutcome = 'adopted' | 'own' | 'foreign' | 'unclear' | 'gone' | `failed: ${string}`

const maxTries = 5
const tryAgainMs = 50

/**
 * Adds the tenant's tag to a record that has none, and changes nothing else: the copy that was read is written back
 * with the tag, on condition that it is still the newest version. If it is not, the current version is examined again.
 */
export async function adoptRecord (adoption: Adoption, first: StoredResource): Promise<AdoptionOutcome> {
  const { again, pause = pauseFor } = adoption
  let record: StoredResource | undefined = first
  let mayBeDone = false
  for (let attempt = 1; record !== undefined; attempt++) {
    const state = ownedState(record, adoption.tenant)
    if (state !== undefined) return state === 'own' && mayBeDone ? 'adopted' : state
    const result = await tag(adoption, record)
    if (result !== 'again' && result !== 'uncertain') return result
    if (attempt === maxTries) {
      return result === 'again'
        ? 'failed: changed by others again and again'
        : 'failed: the datastore failed, so it may be done'
    }
    mayBeDone ||= result === 'uncertain'
    await pause(tryAgainMs * attempt)
    record = await again(record)
  }
  return 'gone'
}

/**
 * The state of a record that an adoption leaves unchanged, since it has a tag of the tenant system; undefined if it has
 * none.
 */
export function ownedState (record: StoredResource, tenant: Tenant): 'own' | 'foreign' | 'unclear' | undefined {
  const owner = ownerOf(record, tenant.system)
  if (owner.kind === 'none') return undefined
  if (owner.kind !== 'one') return 'unclear'
  return owner.tenantId === tenant.id ? 'own' : 'foreign'
}

async function tag (
  { send, tenant }: Adoption,
  record: StoredResource
): Promise<AdoptionOutcome | 'again' | 'uncertain'> {
  const { meta, resourceType, id } = record
  const tags = meta.tag ?? []
  // Without a version, a concurrent write of another client would be lost.
  if (!isId(meta.versionId)) return 'failed: the datastore gives its records no version'
  if (isSubsetted(record)) return 'failed: the datastore showed a part of it only'
  const body = printJson({ ...record, meta: { ...meta, tag: [...tags, { system: tenant.system, code: tenant.id }] } })
  const headers = { 'if-match': `W/"${meta.versionId}"`, prefer: 'return=representation' }
  try {
    return outcomeOf(await send({ method: 'PUT', path: `${resourceType}/${id}`, headers, body }), record, tenant)
  } catch (error) {
    if (mayHaveSucceeded(error)) return 'uncertain'
    throw error
  }
}

function outcomeOf (response: BackendResponse, record: StoredResource, tenant: Tenant): AdoptionOutcome | 'again' {
  const { status } = response
  if (status === 409 || status === 412 || status === 404 || status === 410) return 'again'
  if (status === 201) return 'failed: it was removed in the same moment and has come back'
  if (status !== 200) return `failed: the datastore refused it (${Object.values(failureCause(response)).join(' ')})`
  const stored = jsonOf(response) as StoredResource
  const isDone = stored?.id === record.id && ownedState(stored, tenant) === 'own'
  return isDone ? 'adopted' : 'failed: the datastore did not keep the tag'
}
