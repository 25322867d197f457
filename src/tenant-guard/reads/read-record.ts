import type { BackendAnswer } from '../../backends/backend.js'
import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { ask, jsonOf, notFound, ownRecordIn, placeOf, unexpected, type Door } from '../door.js'

/** The identity and version of a record of the tenant's; unknown, deleted and foreign ones are NOT_FOUND. */
export async function metaOf (door: Door, type: string, id: string): Promise<StoredResource> {
  const answer = await ask(door, { method: 'GET', path: `${type}/${id}?_elements=id,meta` })
  return readRecord(door, answer, { type, id })
}

/** The record that was read; foreign, unknown and deleted ones give the same failure. */
export function readRecord (door: Door, answer: BackendAnswer, asked: { readonly type: string, readonly id: string }, json = jsonOf): StoredResource {
  // Some servers call an id that they could never have given a bad request.
  if ([400, 404, 410].includes(answer.status)) throw gone(door, `${asked.type}/${asked.id}`)
  if (answer.status !== 200) throw unexpected(answer, 'a read was not answered')
  const record = ownRecordIn(door, json(answer), asked)
  if (record === undefined) throw notFound()
  return record
}

/** Forgets the owner of a record that the datastore no longer has. */
export function gone (door: Door, record: string): Failure {
  door.ownership.forget(placeOf(door), record)
  return notFound()
}
