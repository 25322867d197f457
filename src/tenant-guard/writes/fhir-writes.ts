import { Failure } from '../../envelope/failures.js'
import type { TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Create, Delete, Update, CreateOnce } from '../interaction.js'
import { toRecordResponse } from '../reads/fhir-read.js'
import { isNumericVersion } from '../reads/vread.js'
import { createOnce } from './create-once.js'
import { readMeta } from '../reads/read-record.js'
import { create, remove, update, type Written } from './writes.js'

/** A new record, as it was stored. */
export async function fhirCreate (context: TenantContext, request: Create): Promise<FhirResponse> {
  return toWriteResponse(context, await create(context, request), 201)
}

/** The same once: 200 and the record in its current state where an earlier request made it. */
export async function fhirCreateOnce (context: TenantContext, request: CreateOnce): Promise<FhirResponse> {
  const written = await createOnce(context, request)
  return toWriteResponse(context, written, written.isNew ? 201 : 200)
}

/**
 * Replaces a record. If the client's version is not the stored one, its precondition has failed; that is no conflict.
 */
export async function fhirUpdate (context: TenantContext, request: Update): Promise<FhirResponse> {
  await requireValidVersion(context, request)
  return toWriteResponse(context, await withPrecondition(request.version, () => update(context, request)))
}

/** A record that was written, with the warnings about it. */
export function toWriteResponse (
  context: TenantContext,
  { record, response, warnings }: Written,
  status: FhirResponse['status'] = 200
): FhirResponse {
  return { ...toRecordResponse(context, response, record), status, warnings }
}

/** Nothing is left to show. */
export async function fhirDelete (context: TenantContext, request: Delete): Promise<FhirResponse> {
  await remove(context, request)
  return { status: 204 }
}

/**
 * A version that is not a number in range is compared here: HAPI, which numbers versions, fails with an error.
 * @throws {Failure} PRECONDITION_FAILED
 */
export async function requireValidVersion (
  context: TenantContext,
  { type, id, version }: Pick<Update, 'type' | 'id' | 'version'>
): Promise<void> {
  if (version === undefined || isNumericVersion(version)) return
  if ((await readMeta(context, type, id)).meta.versionId !== version) throw new Failure('PRECONDITION_FAILED')
}

/** A conflict of versions in the words of If-Match, where the client sent one. */
export async function withPrecondition<T> (version: string | undefined, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (version === undefined || !(error instanceof Failure) || error.code !== 'CONFLICT') throw error
    throw new Failure('PRECONDITION_FAILED', { cause: error.cause })
  }
}
