import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import {
  sendRequest,
  toFailureCause,
  getCursorBinding,
  verifyAndRememberOwned,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { History, SearchParameter } from '../interaction.js'
import {
  formatBundle, listRecordReferences, parseOutlinedJson, requireBundle, type BackendBundleEntry
} from './backend-bundle.js'
import { encodeParameters } from '../restrict.js'
import { buildLinkUrl, openNextPage, toPageLinks, toPageParameters, sealNextPage } from './pages.js'
import { readMeta } from './read-record.js'

const defaultCount = 20

/**
 * The versions of a record that is the tenant's now. A version from a time when the id was another tenant's is left
 * out.
 */
export async function history (context: TenantContext, request: History): Promise<FhirResponse> {
  const { type, id, cursor, since } = request
  await readMeta(context, type, id)
  const path = `${type}/${id}/_history`
  const binding = getCursorBinding(context, { route: `fhir ${path}`, type })
  const { response, opened } =
    cursor === undefined
      ? { response: await fetchFirstPage(context, path, request) }
      : await openNextPage(context, { ...request, cursor }, binding)
  const bundle = requireBundle(response, 'a history was not answered', { type: 'history', parse: parseOutlinedJson })
  const shown = filterOwnVersions(context, bundle.entries, { type, id })
  const total = shown.length === bundle.entries.length ? bundle.total : undefined
  const url = `${context.fhirBase}/${path}`
  const self = buildLinkUrl(url, [
    ...(since === undefined ? [] : [['_since', since] as const]),
    ...toPageParameters(request)
  ])
  const buildContents = () => ({ count: opened?.count ?? request.count ?? defaultCount, filters: '' })
  const next = sealNextPage(context, response, { next: bundle.next, paths: [path], binding, buildContents })
  const links = toPageLinks(self, url, next)
  return {
    status: 200,
    body: formatBundle(context, bundle, { type: 'history', response, total, links, shown }),
    shown: () => listRecordReferences(shown)
  }
}

async function fetchFirstPage (
  context: TenantContext,
  path: string,
  { count = defaultCount, since }: Pick<History, 'count' | 'since'>
): Promise<BackendResponse> {
  const parameters: SearchParameter[] = [
    ['_count', String(count)],
    ...(since === undefined ? [] : [['_since', since] as const])
  ]
  const response = await sendRequest(context, { method: 'GET', path: `${path}?${encodeParameters(parameters)}` })
  if ([400, 422].includes(response.status)) {
    throw new Failure('BAD_REQUEST', {
      message: 'The datastore rejected these history parameters.',
      cause: toFailureCause(response)
    })
  }
  return response
}

/** A deletion has no resource to show whose it was, so it appears only if all other versions are the tenant's. */
function filterOwnVersions (
  context: TenantContext,
  entries: readonly BackendBundleEntry[],
  request: { readonly type: string; readonly id: string }
): BackendBundleEntry[] {
  const withResource = entries.filter(({ resource }) => resource !== undefined)
  const own = withResource.filter(({ resource }) => verifyAndRememberOwned(context, resource, request) !== undefined)
  if (own.length < withResource.length) return own
  return entries.filter(entry => entry.resource !== undefined || isDeletionOf(entry, request))
}

function isDeletionOf (
  { request }: BackendBundleEntry,
  { type, id }: { readonly type: string; readonly id: string }
): boolean {
  const url = String(request?.url ?? '')
  return request?.method === 'DELETE' && (url === `${type}/${id}` || url.startsWith(`${type}/${id}/_history/`))
}
