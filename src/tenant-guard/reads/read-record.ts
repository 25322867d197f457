import type { BackendResponse } from '../../backends/backend.js'
import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { sendRequest, jsonOf, notFound, verifyAndRememberOwned, ownershipScope, unexpectedResponse, type TenantContext } from '../tenant-context.js'

/** The identity and version of a record of the tenant's; unknown, deleted and foreign ones are NOT_FOUND. */
export async function readMeta (door: TenantContext, type: string, id: string): Promise<StoredResource> {
  const answer = await sendRequest(door, { method: 'GET', path: `${type}/${id}?_elements=id,meta` })
  return readRecord(door, answer, { type, id })
}

/** The record that was read; foreign, unknown and deleted ones give the same failure. */
export function readRecord (door: TenantContext, answer: BackendResponse, asked: { readonly type: string, readonly id: string }, json = jsonOf): StoredResource {
  // Some servers call an id that they could never have given a bad request.
  if ([400, 404, 410].includes(answer.status)) throw forgetAndNotFound(door, `${asked.type}/${asked.id}`)
  if (answer.status !== 200) throw unexpectedResponse(answer, 'a read was not answered')
  const record = verifyAndRememberOwned(door, json(answer), asked)
  if (record === undefined) throw notFound()
  return record
}

/** Forgets the owner of a record that the datastore no longer has. */
export function forgetAndNotFound (door: TenantContext, record: string): Failure {
  door.ownership.forget(ownershipScope(door), record)
  return notFound()
}
