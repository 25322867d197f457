import type { BackendResponse } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { sendRequest, jsonOf, notFound, verifyAndRememberOwned, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { VersionRead } from '../interaction.js'
import { isId } from '../resource-types.js'
import { readRecord } from './read-record.js'

/** A version of a record, and the answer in which it came. */
interface FoundVersion { readonly record: StoredResource, readonly answer: BackendResponse }

/** One version of a record that is the tenant's now; the id may have been another's at the time of the version. */
export async function versionOf (door: TenantContext, { type, id, version }: VersionRead): Promise<FoundVersion> {
  const answer = await sendRequest(door, { method: 'GET', path: `${type}/${id}` })
  const current = readRecord(door, answer, { type, id })
  return current.meta.versionId === version ? { record: current, answer } : await earlier(door, { type, id, version })
}

async function earlier (door: TenantContext, { type, id, version }: Omit<VersionRead, 'kind'>): Promise<FoundVersion> {
  if (!isId(version) || (/^\d+$/.test(version) && !isNumericVersion(version))) throw notFound()
  const answer = await sendRequest(door, { method: 'GET', path: `${type}/${id}/_history/${version}` })
  if ([400, 404, 410].includes(answer.status)) throw notFound()
  if (answer.status !== 200) throw unexpectedResponse(answer, 'a read of a version was not answered')
  const record = verifyAndRememberOwned(door, jsonOf(answer), { type, id })
  if (record?.meta.versionId !== version) throw notFound()
  return { record, answer }
}

/** Whether a version may be a number of HAPI's, which fails over those that it cannot count to. */
export const isNumericVersion = (version: string): boolean => /^\d{1,18}$/.test(version)
