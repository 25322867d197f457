import type { BackendResponse } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import {
  sendRequest,
  parseJson,
  notFound,
  verifyAndRememberOwned,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { VersionRead } from '../interaction.js'
import { isId } from '../../fhir/names.js'
import { readRecord } from './read-record.js'

/** A version of a record, and the response in which it came. */
interface FoundVersion { readonly record: StoredResource, readonly response: BackendResponse }

/** One version of a record that is the tenant's now; the id may have been another's at the time of the version. */
export async function fetchVersion (context: TenantContext, { type, id, version }: VersionRead): Promise<FoundVersion> {
  const response = await sendRequest(context, { method: 'GET', path: `${type}/${id}` })
  const current = readRecord(context, response, { type, id })
  return current.meta.versionId === version
    ? { record: current, response }
    : await readEarlierVersion(context, { type, id, version })
}

async function readEarlierVersion (
  context: TenantContext,
  { type, id, version }: Omit<VersionRead, 'kind'>
): Promise<FoundVersion> {
  if (!isId(version) || (/^\d+$/.test(version) && !isNumericVersion(version))) throw notFound()
  const response = await sendRequest(context, { method: 'GET', path: `${type}/${id}/_history/${version}` })
  if ([400, 404, 410].includes(response.status)) throw notFound()
  if (response.status !== 200) throw unexpectedResponse(response, 'a read of a version was not answered')
  const record = verifyAndRememberOwned(context, parseJson(response), { type, id })
  if (record?.meta.versionId !== version) throw notFound()
  return { record, response }
}

/** Whether a version may be a number of HAPI's, which fails over those that it cannot count to. */
export const isNumericVersion = (version: string): boolean => /^\d{1,18}$/.test(version)
