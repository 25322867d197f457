import type { FastifyReply, FastifyRequest } from 'fastify'
import { idempotencyKey, readIdempotencyKey, idempotencyUnsupported } from '../../idempotency/header.js'
import type { IdempotencyClaim, IdempotencyStore, Result } from '../../idempotency/keyed-requests.js'
import {
  createdRecordDeleted, createWriteTrace, toCreateOnceCondition, ignoreNotFound
} from '../../idempotency/write-intent.js'
import type { Create, FhirInteraction, Patch } from '../../tenant-guard/interaction.js'
import type { FhirResponse, TenantStore } from '../../tenant-guard/guard.js'
import { policy } from '../../tenant-guard/policy.js'

/** The context in which an interaction is performed. */
interface IdempotencyContext {
  readonly store: TenantStore
  readonly keyedRequests: IdempotencyStore
  /** Of {@link readKeyForInteraction}. */
  readonly key: string | undefined
}

/** The interactions that an Idempotency-Key makes unique: only these leave a trace by which a repeat is recognized. */
type Keyed = Create | Patch

const isKeyed = (interaction: FhirInteraction): interaction is Keyed =>
  interaction.kind === 'create' || interaction.kind === 'patch'

/** Performs an interaction; a create or a patch with an Idempotency-Key once. */
export function performIdempotently (
  reply: FastifyReply,
  interaction: FhirInteraction,
  { store, keyedRequests, key }: IdempotencyContext
): Promise<FhirResponse> {
  return key === undefined || !isKeyed(interaction)
    ? store.perform(interaction)
    : performOnce(reply, interaction, { store, keyedRequests, key })
}

async function performOnce (
  reply: FastifyReply,
  interaction: Keyed,
  { store, keyedRequests, key }: IdempotencyContext & { readonly key: string }
): Promise<FhirResponse> {
  const {
    caller: { tenantId, mode },
    method
  } = reply.request
  const { type } = interaction
  const what =
    interaction.kind === 'create'
      ? { body: interaction.resource }
      : { id: interaction.id, ifMatch: interaction.version, body: interaction.patch }
  await using claim = await keyedRequests.claim({ tenantId, mode, key, method, route: `fhir/${type}`, ...what })
  const { response, isReplayed } = interaction.kind === 'create'
    ? await createOnce(store, interaction, claim)
    : await patchOnce(store, interaction, claim)
  if (isReplayed) reply.header(idempotencyKey.replayedHeader, 'true')
  return response
}

/**
 * The key of a request that takes one. Other methods, and a POST that only reads, have no effect that could happen
 * twice, so there the header is ignored.
 * @throws {Failure} BAD_REQUEST for a key where each request would be performed
 */
export function readKeyForInteraction (
  { method, raw }: Pick<FastifyRequest, 'method' | 'raw'>,
  interaction: FhirInteraction
): string | undefined {
  if (method !== 'POST' && method !== 'PATCH') return undefined
  const { scopes } = policy[interaction.kind]
  const doesNothing = interaction.kind !== 'export' && scopes !== 'entries' && !scopes.includes('write')
  const key = doesNothing ? undefined : readIdempotencyKey(raw.rawHeaders)
  if (key !== undefined && !isKeyed(interaction)) throw idempotencyUnsupported()
  return key
}

interface OnceResult { readonly response: FhirResponse, readonly isReplayed: boolean }

async function createOnce (
  store: TenantStore,
  { type, resource }: Create,
  claim: IdempotencyClaim
): Promise<OnceResult> {
  if (claim.result !== undefined) {
    const first = await ignoreNotFound(fetchVersion(store, type, claim.result))
    if (first === undefined) throw createdRecordDeleted()
    return { response: { ...first, status: 201, ...pickWarnings(claim.result) }, isReplayed: true }
  }
  const made = await store.perform({ kind: 'create-once', type, resource, ...toCreateOnceCondition(claim) })
  const isReplayed = made.status !== 201
  const response = isReplayed ? await fetchFirstVersion(store, made) : made
  await finish(claim, response)
  return { response: { ...response, status: 201 }, isReplayed }
}

/** The record as it was created, where the datastore counts and retains versions. */
async function fetchFirstVersion (store: TenantStore, made: FhirResponse): Promise<FhirResponse> {
  const { resourceType, id, meta: { versionId } } = made.record!
  return versionId === '1'
    ? made
    : ((await ignoreNotFound(fetchVersion(store, resourceType, { id, version: '1' }))) ?? made)
}

async function patchOnce (store: TenantStore, request: Patch, claim: IdempotencyClaim): Promise<OnceResult> {
  const { type } = request
  if (claim.result !== undefined) {
    const made = await fetchVersion(store, type, claim.result)
    return { response: { ...made, ...pickWarnings(claim.result) }, isReplayed: true }
  }
  const trace = createWriteTrace({ store, type }, claim)
  let isReplayed = false
  const findEarlierWrite: typeof trace.findEarlierWrite = async before => {
    const made = await trace.findEarlierWrite(before)
    isReplayed = made !== undefined
    return made
  }
  const response = await store.perform({ ...request, trace: { ...trace, findEarlierWrite } })
  await finish(claim, response)
  return { response, isReplayed }
}

const pickWarnings = ({ warnings }: Result): Pick<FhirResponse, 'warnings'> =>
  warnings === undefined ? {} : { warnings }

async function finish (claim: IdempotencyClaim, { record, warnings = [] }: FhirResponse): Promise<void> {
  if (record !== undefined) await claim.finish({ id: record.id, version: record.meta.versionId, warnings })
}

function fetchVersion (store: TenantStore, type: string, { id, version }: Result): Promise<FhirResponse> {
  return store.perform(version === undefined ? { kind: 'read', type, id } : { kind: 'vread', type, id, version })
}
