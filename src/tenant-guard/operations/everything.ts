import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { getCapabilities } from '../capabilities.js'
import {
  parseCheckedJson,
  sendRequest,
  toFailureCause,
  getCursorBinding,
  mayRead,
  verifyAndRememberOwned,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { EverythingOperation } from '../interaction.js'
import {
  formatBundle, listRecordReferences, parseOutlinedJson, requireBundle, type BackendBundleEntry
} from '../reads/backend-bundle.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { encodeParameters } from '../restrict.js'
import { parseIssues } from './backend-issues.js'
import { isNotOffered } from './validate.js'
import { buildLinkUrl, openNextPage, toPageLinks, toPageParameters, sealNextPage } from '../reads/pages.js'
import { readMeta } from '../reads/read-record.js'

const defaultCount = 100

/**
 * A patient and the records about it. The datastore does not separate tenants here, so the patient is checked first,
 * and records of other tenants are removed from the response; the total would count them and is removed as well. So are
 * records that the client did not request: HAPI ignores `_since`, and returns more types than `_type` names.
 */
export async function fetchPatientEverything (
  context: TenantContext, request: EverythingOperation
): Promise<FhirResponse> {
  const { type, id, cursor, parameters } = request
  await readMeta(context, type, id)
  const path = `${type}/${id}/$everything`
  const binding = getCursorBinding(context, { route: `fhir ${path}`, type })
  const { response, opened } =
    cursor === undefined
      ? { response: await fetchFirstPage(context, path, request) }
      : await openNextPage(context, { ...request, cursor }, binding)
  const narrowing = opened?.narrowing ?? parameters.filter(([name]) => name === '_since' || name === '_type')
  const parse = narrowing.length === 0 ? parseOutlinedJson : parseCheckedJson
  const bundle = requireBundle(response, 'an operation was not answered', { parse })
  const url = `${context.fhirBase}/${path}`
  const count = opened?.count ?? request.count ?? defaultCount
  const buildContents = () => ({ count, filters: '', ...(narrowing.length > 0 && { narrowing }) })
  const next = sealNextPage(context, response, { next: bundle.next, paths: [path], binding, buildContents })
  const links = toPageLinks(buildLinkUrl(url, [...parameters, ...toPageParameters(request)]), url, next)
  const isOpen = ({ resource }: BackendBundleEntry) => mayRead(context, (resource as StoredResource).resourceType)
  const shown = bundle.entries.filter(entry => isOwn(context, entry) && isSelected(entry, narrowing) && isOpen(entry))
  const note = buildAccessNote(context, narrowing)
  return {
    status: 200,
    body: formatBundle(context, bundle, { type: 'searchset', response, links, shown, note }),
    shown: () => listRecordReferences(shown)
  }
}

async function fetchFirstPage (
  context: TenantContext,
  path: string,
  { parameters, count = defaultCount }: Pick<EverythingOperation, 'parameters' | 'count'>
): Promise<BackendResponse> {
  await requireHeeded(context, parameters)
  // Else HAPI shows for a minute what it found earlier.
  const headers = { 'cache-control': 'no-cache' }
  const response = await sendRequest(context, {
    method: 'GET',
    path: `${path}?${encodeParameters([...parameters, ['_count', String(count)]])}`,
    headers
  })
  if (response.status === 200) return response
  const cause = toFailureCause(response)
  if (isNotOffered(response, parseIssues(context, response))) {
    throw new Failure('NOT_IMPLEMENTED', { message: 'The datastore does not support this operation.', cause })
  }
  if (response.status === 400 || response.status === 422) {
    throw new Failure('BAD_REQUEST', { message: 'The datastore rejected the parameters of this operation.', cause })
  }
  return response
}

/** The servers whose documentation says that they obey the dates of care. HAPI, SEKMET and others ignore them. */
const obeysDatesOfCare = /^(?:Azure|Microsoft)\b/

/**
 * @throws {Failure} BAD_REQUEST for the dates of care on a server that is not known to obey them, since a record does
 * not show them: one that ignores them would show all times
 */
async function requireHeeded (context: TenantContext, parameters: EverythingOperation['parameters']): Promise<void> {
  const [name] = parameters.find(([name]) => name === 'start' || name === 'end') ?? []
  if (name === undefined) return
  const { software = '' } = await getCapabilities(context.backend, request => sendRequest(context, request))
  if (obeysDatesOfCare.test(software)) return
  const message = `${name}: the datastore may ignore it and return records of all dates. Search each type by its dates instead.`
  throw new Failure('BAD_REQUEST', {
    message,
    issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [name] }]
  })
}

/** The warning that a key with limits does not see everything, even if nothing was left out. */
function buildAccessNote (context: TenantContext, narrowing: EverythingOperation['parameters']): string | undefined {
  if (context.access === undefined || narrowing.some(([name]) => name === '_type')) return undefined
  return 'The response has only records of types that this key may read.'
}

function isSelected ({ resource }: BackendBundleEntry, narrowing: EverythingOperation['parameters']): boolean {
  const { resourceType, meta } = resource as StoredResource
  return narrowing.every(([name, value]) =>
    name === '_type'
      ? value.split(',').includes(resourceType)
      : !(Date.parse(meta.lastUpdated ?? '') < Date.parse(value))
  )
}

function isOwn (context: TenantContext, { resource }: BackendBundleEntry): boolean {
  const { resourceType } = (resource ?? {}) as { resourceType?: unknown }
  return (
    typeof resourceType === 'string' &&
    isTenantType(resourceType) &&
    verifyAndRememberOwned(context, resource, { type: resourceType }) !== undefined
  )
}
