import type { BackendResponse } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { listTextSummaryElements } from '../../mappings/r4/elements.js'
import { sendRequest, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Read, Projection, VersionRead } from '../interaction.js'
import { applyElements, toProjectionParameters } from './apply-elements.js'
import { rewriteUrlsInText } from '../public-urls.js'
import { encodeParameters } from '../restrict.js'
import { fetchVersion } from './vread.js'
import { readRecord } from './read-record.js'

/** One record as stored, or the parts of it that are wanted. */
export async function fhirRead (context: TenantContext, { type, id, shape }: Read): Promise<FhirResponse> {
  const plain = normalizeProjection(type, shape)
  const query = encodeParameters(toProjectionParameters(plain))
  const received = await sendRequest(context, {
    method: 'GET',
    path: `${type}/${id}${query === '' ? '' : `?${query}`}`
  })
  const { response, parse } = applyElements(received, { type, elements: plain?.elements, of: 'record' })
  return toRecordResponse(context, response, readRecord(context, response, { type, id, parse }))
}

/** One version of a record that still exists. */
export async function fhirVersionRead (context: TenantContext, request: VersionRead): Promise<FhirResponse> {
  const { record, response } = await fetchVersion(context, request)
  return toRecordResponse(context, response, record)
}

/** A record that was checked, in the datastore's own text. */
export function toRecordResponse (
  context: TenantContext,
  response: BackendResponse,
  record: StoredResource
): FhirResponse {
  return { status: 200, record, body: rewriteUrlsInText(context, response) }
}

/** HAPI responds to `_summary=text` with the body `null`, but returns the same elements by name. */
function normalizeProjection (type: string, shape: Projection | undefined): Projection | undefined {
  return shape?.summary === 'text' && shape.elements === undefined
    ? { elements: listTextSummaryElements(type).join(',') }
    : shape
}
