import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { toEntityTag, isUnchanged, parseHttpDate, type ReadConditions } from '../../envelope/preconditions.js'
import { fhirType, buildSuccessOutcome } from '../../envelope/operation-outcome.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { FhirInteraction } from '../../tenant-guard/interaction.js'
import type { FhirResponse } from '../../tenant-guard/guard.js'
import { policy } from '../../tenant-guard/policy.js'
import { maySeeWritten } from './allowed.js'
import { sendContent, type Content } from './binary.js'
import { parsePrefer } from './preferences.js'

interface ResponseOptions {
  readonly interaction: Pick<FhirInteraction, 'kind' | 'type'>
  readonly fhirBase: string
  /** In place of the resource. */
  readonly content?: Content | undefined
}

/** Sends the result of an interaction as http://hl7.org/fhir/R4/http.html defines. */
export function sendFhirResponse (
  reply: FastifyReply,
  response: FhirResponse,
  { interaction, fhirBase, content }: ResponseOptions
): FastifyReply {
  const { status, record, body, warnings = [] } = response
  reply.code(status).type(fhirType)
  if (record !== undefined) {
    const path = `${fhirBase}/${toLocation(record)}`
    // HAPI's client reads from Content-Location which record and version an update produced.
    reply.headers({
      ...buildVersionHeaders(record),
      'content-location': path,
      ...(status === 201 && { location: path })
    })
  }
  const isRead = !policy[interaction.kind].scopes.includes('write')
  // Decided here, after the check that the record is the tenant's.
  if (isRead && record !== undefined && isUnchanged(readConditions(reply.request.headers), record.meta)) {
    return reply.code(304).removeHeader('content-type').send()
  }
  if (content !== undefined) return sendContent(reply, content)
  const preference = isRead || body === undefined ? undefined : parsePrefer(reply.request).returns
  const returns =
    preference === 'OperationOutcome' || maySeeWritten(reply.request.caller, interaction) ? preference : 'minimal'
  if (returns === 'minimal' || body === undefined) return reply.removeHeader('content-type').send()
  return reply.send(
    returns === 'OperationOutcome' ? JSON.stringify(buildSuccessOutcome('The change was made.', warnings)) : body
  )
}

/** Version and time of a record, for the conditions of later requests. */
function buildVersionHeaders ({ meta: { versionId, lastUpdated } }: StoredResource): Readonly<Record<string, string>> {
  const changed = typeof lastUpdated === 'string' ? new Date(lastUpdated) : undefined
  return {
    ...versionId !== undefined && { etag: toEntityTag(versionId) },
    ...changed !== undefined && !Number.isNaN(changed.getTime()) && { 'last-modified': changed.toUTCString() }
  }
}

function toLocation ({ resourceType, id, meta: { versionId } }: StoredResource): string {
  return versionId === undefined ? `${resourceType}/${id}` : `${resourceType}/${id}/_history/${versionId}`
}

const readConditions = (headers: IncomingHttpHeaders): ReadConditions => ({
  ifNoneMatch: headers['if-none-match'],
  ifModifiedSince: parseHttpDate(headers['if-modified-since'])
})
