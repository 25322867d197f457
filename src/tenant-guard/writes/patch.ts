import { Failure } from '../../envelope/failures.js'
import { applyPatch } from '../../envelope/json-patch.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { sendRequest, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Patch, Trace } from '../interaction.js'
import { fhirVersionRead } from '../reads/fhir-read.js'
import { withPrecondition, toWriteResponse } from './fhir-writes.js'
import { readRecord } from '../reads/read-record.js'
import { relativizeReferences } from './own-references.js'
import { update } from './writes.js'

/**
 * A JSON Patch, applied here to the record that was read: what it makes of it is checked and stored as any update, of
 * just that version, so that no pointer into `meta` or out of the resource can do more than an update.
 */
export async function fhirPatch (context: TenantContext, request: Patch): Promise<FhirResponse> {
  const { type, id, version, trace = noTrace } = request
  const stored = await readStored(context, request)
  const made = await trace.findEarlierWrite(stored)
  if (made !== undefined) {
    return await fhirVersionRead(context, { kind: 'vread', type, id, version: made.meta.versionId! })
  }
  const resource = patchStored(context, stored, request)
  const read = resource.meta.versionId!
  const written = await trace.leave(resource, read, () =>
    withPrecondition(version, () => update(context, { type, id, resource, version: read, before: stored }))
  )
  return toWriteResponse(context, written)
}

const noTrace: Trace = { findEarlierWrite: async () => undefined, leave: (_, __, write) => write() }

/**
 * The stored record before the patch and as the patch leaves it, with the version that was read in its `meta`.
 * @throws {Failure} PRECONDITION_FAILED for another version than the client's, VALIDATION_ERROR for a patch that does
 * not apply
 */
export async function preparePatch (
  context: TenantContext,
  request: Omit<Patch, 'kind'>
): Promise<{ readonly resource: StoredResource; readonly before: StoredResource }> {
  const before = await readStored(context, request)
  return { resource: patchStored(context, before, request), before }
}

async function readStored (context: TenantContext, { type, id }: Pick<Patch, 'type' | 'id'>): Promise<StoredResource> {
  return readRecord(context, await sendRequest(context, { method: 'GET', path: `${type}/${id}` }), { type, id })
}

function patchStored (
  { fhirBase }: Pick<TenantContext, 'fhirBase'>,
  stored: StoredResource,
  { patch, version }: Pick<Patch, 'patch' | 'version'>
): StoredResource {
  if (version !== undefined && version !== stored.meta.versionId) throw new Failure('PRECONDITION_FAILED')
  const changed = relativizeReferences(applyPatch(patch, stored), fhirBase)
  if (!isSameRecord(changed, stored)) {
    throw new Failure('VALIDATION_ERROR', {
      message: 'A patch must leave resourceType and id as they are, and meta an object.'
    })
  }
  return { ...changed, meta: { ...changed.meta, versionId: stored.meta.versionId! } }
}

function isSameRecord (
  changed: unknown,
  { resourceType, id }: StoredResource
): changed is FhirResource & { readonly id: string } {
  if (!isElement(changed)) return false
  const { resourceType: type, id: same, meta = {} } = changed
  return type === resourceType && same === id && isElement(meta)
}
