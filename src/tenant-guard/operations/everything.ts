import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { getCapabilities } from '../capabilities.js'
import { sendRequest, failureCause, cursorBinding, verifyAndRememberOwned, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-answer.js'
import type { EverythingOperation } from '../fhir-interaction.js'
import { bundleText, parseBackendBundle, namesIn, type BackendBundleEntry } from '../reads/backend-bundle.js'
import { isTenantType } from '../resource-types.js'
import { encodeParameters } from '../restrict.js'
import { parseIssues } from './given-outcome.js'
import { isNotOffered } from './validate.js'
import { linkUrl, nextPage, pageLinks, pageParameters } from '../reads/page-links.js'
import { readMeta } from '../reads/read-record.js'

const defaultCount = 100

/**
 * A patient and what is about it. The datastore knows no tenants here, so the patient is checked first, and of the answer
 * all is left out that is not the tenant's; a number of all entries would count it and is left out as well. So is what the
 * client did not ask for: HAPI passes over `_since`, and shows more types than `_type` names.
 */
export async function patientEverything (door: TenantContext, asked: EverythingOperation): Promise<FhirResponse> {
  const { type, id, count = defaultCount, cursor, parameters } = asked
  await readMeta(door, type, id)
  const path = `${type}/${id}/$everything`
  const place = cursorBinding(door, { route: `fhir ${path}`, type })
  const { answer, opened } = cursor === undefined ? { answer: await firstPage(door, path, { ...asked, count }) } : await nextPage(door, cursor, place)
  const narrowing = opened?.narrowing ?? parameters.filter(([name]) => name === '_since' || name === '_type')
  const given = parseBackendBundle(answer, 'searchset')
  if (given === undefined) throw unexpectedResponse(answer, 'an operation was not answered')
  const url = `${door.fhirBase}/${path}`
  const links = pageLinks(door, answer, linkUrl(url, [...parameters, ...pageParameters(asked)]), { next: given.next, paths: [path], place, contents: { count, ...narrowing.length > 0 && { narrowing } }, url })
  const shown = given.entries.filter(entry => isOwn(door, entry) && isWanted(entry, narrowing))
  return { status: 200, body: bundleText(door, given, { type: 'searchset', links, shown }), shown: () => namesIn(shown) }
}

async function firstPage (door: TenantContext, path: string, { parameters, count }: Pick<EverythingOperation, 'parameters'> & { readonly count: number }): Promise<BackendResponse> {
  await demandHeeded(door, parameters)
  // Else HAPI shows for a minute what it found earlier.
  const headers = { 'cache-control': 'no-cache' }
  const answer = await sendRequest(door, { method: 'GET', path: `${path}?${encodeParameters([...parameters, ['_count', String(count)]])}`, headers })
  if (answer.status === 200) return answer
  const cause = failureCause(answer)
  if (isNotOffered(answer, parseIssues(door, answer))) throw new Failure('NOT_IMPLEMENTED', { message: 'The datastore does not support this operation.', cause })
  if (answer.status === 400 || answer.status === 422) throw new Failure('BAD_REQUEST', { message: 'The datastore rejected the parameters of this operation.', cause })
  return answer
}

/** @throws {Failure} BAD_REQUEST for the dates of care, which cannot be told from a record: HAPI passes over them, and would show all times */
async function demandHeeded (door: TenantContext, parameters: EverythingOperation['parameters']): Promise<void> {
  const [name] = parameters.find(([name]) => name === 'start' || name === 'end') ?? []
  if (name === undefined) return
  const told = await getCapabilities(door.backend, request => sendRequest(door, request)).catch(() => undefined)
  if (!/^HAPI\b/.test(told?.software ?? '')) return
  const message = `${name}: the datastore would ignore it and return records of all dates. Search each type by its dates instead.`
  throw new Failure('BAD_REQUEST', { message, issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [name] }] })
}

function isWanted ({ resource }: BackendBundleEntry, narrowing: EverythingOperation['parameters']): boolean {
  const { resourceType, meta } = resource as StoredResource
  return narrowing.every(([name, value]) => name === '_type' ? value.split(',').includes(resourceType) : !(Date.parse(meta.lastUpdated ?? '') < Date.parse(value)))
}

function isOwn (door: TenantContext, { resource }: BackendBundleEntry): boolean {
  const { resourceType } = (resource ?? {}) as { resourceType?: unknown }
  return typeof resourceType === 'string' && isTenantType(resourceType) && verifyAndRememberOwned(door, resource, { type: resourceType }) !== undefined
}
