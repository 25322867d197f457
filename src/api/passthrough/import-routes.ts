import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseBody } from '../../envelope/body.js'
import { Failure } from '../../envelope/failures.js'
import { requireNoQuery, invalidParameter } from '../../envelope/query.js'
import { refuseIdempotencyKey } from '../../idempotency/header.js'
import type { Job } from '../../jobs/model/job.js'
import { requireScope } from '../../keys/scopes.js'
import { cancelRouteOptions } from '../../limits/monthly-quota.js'
import { pollRouteOptions } from '../../limits/rate-limit.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { toJobFailure, sendJobManifest, sendJobResponse, sendProgress } from './job-responses.js'
import { parsePrefer } from './preferences.js'

/** Where records of a type are fetched from. */
interface ImportInput { readonly resourceType: unknown, readonly url: unknown }

/** The imports of a caller. */
export interface Imports {
  /** @throws {Failure} BAD_REQUEST for a source that may not be fetched */
  readonly begin: (request: FastifyRequest, inputs: readonly ImportInput[]) => Promise<Job>
  /** The caller's import, unless it was discarded; undefined where there is none. */
  readonly find: (request: FastifyRequest, jobId: string) => Promise<Job | undefined>
  /** `find` no longer returns it afterwards. */
  readonly discard: (request: FastifyRequest, jobId: string) => Promise<void>
}

interface ImportRoutesOptions {
  readonly imports: Imports
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
}

type WithId = FastifyRequest<{ Params: { id: string } }>

/**
 * `/v1/fhir/$import`, with the manifest that HAPI takes as Parameters, and `/v1/fhir/_import/<id>`, which reports the
 * progress.
 */
export async function importRoutes (scope: FastifyInstance, { imports, url }: ImportRoutesOptions): Promise<void> {
  // The router reads an encoded dollar, which many clients send, in no other form of a path.
  scope.post('/:operation(^\\$import$)', async (request, reply) => {
    request.understood = { kind: 'import', type: 'Bundle' }
    requireScope(request.caller, 'write', 'any')
    requireNoQuery(request)
    refuseIdempotencyKey(request)
    if (!parsePrefer(request).isAsync) {
      throw new Failure('BAD_REQUEST', {
        message: 'Send the header Prefer: respond-async. An import runs as a job after the response.'
      })
    }
    const job = await imports.begin(request, parseInputs(request.body))
    reply.header('content-location', `${url}/v1/fhir/_import/${job.id}`)
    return sendJobResponse(reply.code(202), 'The import has started. Poll its status at the URL in Content-Location.')
  })
  const requireJob = async (request: WithId): Promise<Job> => {
    requireScope(request.caller, 'write', 'any')
    requireNoQuery(request)
    return await imports.find(request, request.params.id) ?? throwNotFound()
  }
  scope.get('/_import/:id', pollRouteOptions, async (request: WithId, reply) => {
    const job = await requireJob(request)
    if (job.status === 'failed') throw toJobFailure(job)
    return job.status === 'completed' ? sendManifest(reply, job, url) : sendProgress(reply, job, retryAfterSeconds)
  })
  scope.delete('/_import/:id', cancelRouteOptions, async (request: WithId, reply) => {
    await imports.discard(request, (await requireJob(request)).id)
    return sendJobResponse(reply.code(202), 'The import was ended. Records that it wrote are kept.')
  })
}

function throwNotFound (): never {
  throw new Failure('NOT_FOUND')
}

const formats = new Set<unknown>(['application/fhir+ndjson', 'application/ndjson', 'application/x-ndjson', 'ndjson'])

/** The parameters that a manifest may have; `inputSource` says where the data comes from, for people. */
const known = new Set<unknown>(['inputFormat', 'inputSource', 'storageDetail', 'input'])

function parseInputs (body: unknown): readonly ImportInput[] {
  const { resourceType, parameter } = (Buffer.isBuffer(body) && body.length > 0 ? parseBody(body) : {}) as FhirElement
  if (resourceType !== 'Parameters' || !Array.isArray(parameter)) {
    throw new Failure('BAD_REQUEST', { message: 'Send a Parameters resource with inputFormat and input, as for HAPI.' })
  }
  const parameters = parameter as readonly FhirElement[]
  if (!parameters.every(item => typeof item === 'object' && item !== null && known.has(item.name))) {
    throw invalidParameter('parameter', `expected ${[...known].join(', ')}`)
  }
  const [format] = parameters.filter(({ name }) => name === 'inputFormat')
  if (format === undefined || !formats.has(format.valueCode)) {
    throw invalidParameter('inputFormat', 'expected application/fhir+ndjson')
  }
  for (const { part } of parameters.filter(({ name }) => name === 'storageDetail')) requirePlainStorage(part)
  return parameters.filter(({ name }) => name === 'input').map(parseInput)
}

function requirePlainStorage (part: unknown): void {
  const parts = Array.isArray(part) ? part as readonly FhirElement[] : []
  if (parts.some(({ name }) => typeof name === 'string' && name.startsWith('credential'))) {
    throw invalidParameter('storageDetail', 'credentials are not sent to sources; use URLs that need no credentials')
  }
  if (parts.some(({ name, valueCode }) => name === 'type' && valueCode !== 'https')) {
    throw invalidParameter('storageDetail', 'expected the type https')
  }
}

function parseInput ({ part }: FhirElement): ImportInput {
  const parts = Array.isArray(part) ? part as readonly FhirElement[] : []
  const getPartValue = (requested: string): unknown => {
    const found = parts.find(({ name }) => name === requested)
    return found?.valueCode ?? found?.valueUri ?? found?.valueUrl ?? found?.valueString
  }
  return { resourceType: getPartValue('type'), url: getPartValue('url') }
}

function sendManifest (
  reply: FastifyReply,
  job: Job,
  url: string
): FastifyReply {
  const { id, completedAt, progress: { processed, failed } } = job
  const manifest = {
    transactionTime: completedAt,
    request: `${url}/v1/fhir/$import`,
    requiresAccessToken: true,
    output: [],
    error: [],
    extension: { results: `${url}/v1/bulk/jobs/${id}/results`, processedRecords: processed, failedRecords: failed }
  }
  return sendJobManifest(reply, job, manifest)
}

/** Seconds between two requests for the progress of an import. */
const retryAfterSeconds = 5
