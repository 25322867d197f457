import type { FastifyReply, FastifyRequest } from 'fastify'
import { idempotencyKey, readIdempotencyKey, idempotencyUnsupported } from '../../idempotency/header.js'
import type { IdempotencyClaim, IdempotencyStore, Result } from '../../idempotency/keyed-requests.js'
import { deletedSince, writeIntentOf, createIntents, ifExists } from '../../idempotency/write-intent.js'
import type { Create, FhirInteraction, Patch } from '../../tenant-guard/interaction.js'
import type { FhirResponse, TenantStore } from '../../tenant-guard/guard.js'
import { policy } from '../../tenant-guard/policy.js'

/** The context in which an interaction is performed. */
interface OnceParts {
  readonly store: TenantStore
  readonly keyedRequests: IdempotencyStore
  /** Of {@link idempotencyKeyFor}. */
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
  { store, keyedRequests, key }: OnceParts
): Promise<FhirResponse> {
  return key === undefined || !isKeyed(interaction)
    ? store.perform(interaction)
    : performOnce(reply, interaction, { store, keyedRequests, key })
}

async function performOnce (
  reply: FastifyReply,
  interaction: Keyed,
  { store, keyedRequests, key }: OnceParts & { readonly key: string }
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
    ? await createdOnce(store, interaction, claim)
    : await patchedOnce(store, interaction, claim)
  if (isReplayed) reply.header(idempotencyKey.replayedHeader, 'true')
  return response
}

/**
 * The key of a request that takes one. Other methods, and a POST that only reads, have no effect that could happen
 * twice, so there the header is ignored.
 * @throws {Failure} BAD_REQUEST for a key where each request would be performed
 */
export function idempotencyKeyFor (
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

interface Once { readonly response: FhirResponse, readonly isReplayed: boolean }

async function createdOnce (
  store: TenantStore,
  { type, resource }: Create,
  claim: IdempotencyClaim
): Promise<Once> {
  if (claim.result !== undefined) {
    const first = await ifExists(versionOf(store, type, claim.result))
    if (first === undefined) throw deletedSince()
    return { response: { ...first, status: 201, ...warningsOf(claim.result) }, isReplayed: true }
  }
  const made = await store.perform({ kind: 'create-once', type, resource, ...createIntents(claim) })
  const isReplayed = made.status !== 201
  const response = isReplayed ? await firstVersionOf(store, made) : made
  await finish(claim, response)
  return { response: { ...response, status: 201 }, isReplayed }
}

/** The record as it was created, where the datastore counts and retains versions. */
async function firstVersionOf (store: TenantStore, made: FhirResponse): Promise<FhirResponse> {
  const { resourceType, id, meta: { versionId } } = made.record!
  return versionId === '1' ? made : await ifExists(versionOf(store, resourceType, { id, version: '1' })) ?? made
}

async function patchedOnce (store: TenantStore, request: Patch, claim: IdempotencyClaim): Promise<Once> {
  const { type } = request
  if (claim.result !== undefined) {
    const made = await versionOf(store, type, claim.result)
    return { response: { ...made, ...warningsOf(claim.result) }, isReplayed: true }
  }
  const trace = writeIntentOf({ store, type }, claim)
  let isReplayed = false
  const found: typeof trace.found = async before => {
    const made = await trace.found(before)
    isReplayed = made !== undefined
    return made
  }
  const response = await store.perform({ ...request, trace: { ...trace, found } })
  await finish(claim, response)
  return { response, isReplayed }
}

const warningsOf = ({ warnings }: Result): Pick<FhirResponse, 'warnings'> => warnings === undefined ? {} : { warnings }

async function finish (claim: IdempotencyClaim, { record, warnings = [] }: FhirResponse): Promise<void> {
  if (record !== undefined) await claim.finish({ id: record.id, version: record.meta.versionId, warnings })
}

function versionOf (store: TenantStore, type: string, { id, version }: Result): Promise<FhirResponse> {
  return store.perform(version === undefined ? { kind: 'read', type, id } : { kind: 'vread', type, id, version })
}
