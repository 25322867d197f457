import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { bodyTypes, plainTypes, unsupportedMediaType } from './body.js'
import { Failure, fieldIssue, type FailureCode, type FailureDetails } from './failures.js'
import { sendOutcome } from './operation-outcome.js'
import { sendFailure } from './reply.js'

/** Responds to any error of a scope with an envelope. Server errors are logged here, once, with their cause. */
export function handleError (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendFailure(reply, logFailure(error, request))
}

/** The same with an OperationOutcome, for FHIR scopes. */
export function handleFhirError (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendOutcome(reply, logFailure(error, request))
}

function logFailure (error: unknown, request: FastifyRequest): Failure {
  const failure = toMediaTypeFailure(error, request) ?? toFailure(error)
  if (failure.status >= 500) request.log.error({ code: failure.code, err: failure.cause }, failure.title)
  return failure
}

/** The failure of a body whose media type the route does not support. */
function toMediaTypeFailure (error: unknown, { method, routeOptions }: FastifyRequest): Failure | undefined {
  if (toFastifyError(error).code !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return undefined
  return unsupportedMediaType(routeOptions.config.bodyTypes ?? (method === 'PATCH' ? bodyTypes : plainTypes))
}

/** Refuses a path without a route. */
export function handleNotFound (): never {
  throw new Failure('NOT_FOUND')
}

/** The failure that the client receives for an error. An unexpected error is INTERNAL_ERROR, without details. */
export function toFailure (error: unknown): Failure {
  if (error instanceof Failure) return error
  const { code, statusCode, validation } = toFastifyError(error)
  if (validation) return invalidRequest(validation)
  const refusal = refusals[code]
  if (refusal) return new Failure(...refusal)
  // A client that disconnects while it sends the body, and other refusals of the framework.
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return new Failure('BAD_REQUEST')
  return new Failure('INTERNAL_ERROR', { cause: error })
}

const refusals: Readonly<Record<string, [FailureCode, FailureDetails?]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['BAD_REQUEST', { message: 'Send as many bytes as Content-Length says.' }],
  FST_ERR_BAD_URL: ['BAD_REQUEST', { message: 'Correct the percent-encoding of the path.' }]
}

function toFastifyError (error: unknown): Partial<FastifyError> & { readonly code: string } {
  return { code: '', ...(error instanceof Error ? pick(error as FastifyError) : {}) }
}

function pick ({ code, statusCode, validation }: FastifyError) {
  return { code, statusCode, validation }
}

function invalidRequest (validation: NonNullable<FastifyError['validation']>): Failure {
  return new Failure('BAD_REQUEST', {
    message: 'Correct the parameters in issues and send the request again.',
    issues: validation.map(({ instancePath, params, message }) =>
      fieldIssue(
        instancePath.slice(1).replaceAll('/', '.') ||
          String(params.missingProperty ?? params.additionalProperty ?? 'request'),
        message ?? 'is not valid'
      )
    )
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media types of a route's request body, if it supports others than JSON. */
    readonly bodyTypes?: readonly string[]
  }
}
