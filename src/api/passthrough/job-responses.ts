import type { FastifyReply } from 'fastify'
import { catalog, Failure, type FailureCode } from '../../envelope/failures.js'
import { fhirType, buildSuccessOutcome } from '../../envelope/operation-outcome.js'
import type { Job } from '../../jobs/model/job.js'

/** Responds that a job was started or ended. */
export const sendJobResponse = (reply: FastifyReply, diagnostics: string): FastifyReply =>
  reply.type(fhirType).send(JSON.stringify(buildSuccessOutcome(diagnostics)))

/** Responds with how far a job is: http://hl7.org/fhir/R4/async.html */
export function sendProgress (
  reply: FastifyReply,
  { status, progress: { processed, total } }: Job,
  retryAfterSeconds: number
): FastifyReply {
  const records = total === undefined ? `${processed} records` : `${processed} of ${total} records`
  return reply
    .code(202)
    .headers({ 'x-progress': status === 'pending' ? 'waiting' : records, 'retry-after': String(retryAfterSeconds) })
    .send()
}

/** Responds with the manifest of a job that is completed. */
export function sendJobManifest (reply: FastifyReply, { expiresAt }: Job, manifest: object): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('expires', new Date(expiresAt).toUTCString())
    .send(JSON.stringify(manifest))
}

/**
 * Why a job failed. It still exists, so no code says that it does not, or that the request for its state was wrong in
 * other ways.
 */
export function toJobFailure ({ failure }: Job): Failure {
  const code =
    failure !== undefined && Object.hasOwn(catalog, failure.code) ? (failure.code as FailureCode) : 'INTERNAL_ERROR'
  return new Failure([401, 403, 404, 429, 503].includes(catalog[code].status) ? 'INTERNAL_ERROR' : code, {
    message: failure?.message
  })
}
