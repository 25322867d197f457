import type { FastifyInstance } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import { plainTypes } from '../../envelope/body.js'
import { inTypes, referTo } from '../../envelope/openapi-responses.js'
import { rawQuery } from '../../envelope/query.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { bulkResource, describeJobRoute, responsesOfStart } from '../describe-jobs.js'
import { exportFormats } from '../model/job.js'
import { limitExport, parseExportRequest } from './request.js'
import { beginExport, type ExportStart } from './begin-export.js'

/** The options of the route. */
interface ExportRouteOptions extends ExportStart {
  readonly mappings: readonly Mapping[]
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
}

const exportBody = {
  $id: 'BulkExport',
  type: 'object',
  properties: {
    resourceTypes: {
      type: 'array',
      minItems: 1,
      items: { $ref: 'BulkResource#' },
      description: 'If absent, all.',
      examples: [['patients', 'Observation']]
    },
    since: {
      type: 'string',
      anyOf: [{ format: 'date-time' }, { format: 'date' }],
      description: 'Only records changed since this time (with a time zone) or date.',
      examples: ['2030-03-14T09:30:00Z']
    },
    format: {
      type: 'string',
      enum: exportFormats,
      default: 'fhir',
      description: 'FHIR as it is stored, or the simple form.'
    }
  },
  additionalProperties: false
}

const described = describeJobRoute({
  operationId: 'beginBulkExport',
  summary: 'Export records',
  description:
    "Exports the records of the key's organization and mode as newline-delimited JSON, one file per type, to download once the job is completed. The key needs the scope read.",
  body: inTypes(plainTypes, { schema: referTo('BulkExport') }),
  responses: responsesOfStart('The export has started.')
})

/** `POST /v1/bulk/export`: needs only the scope read, despite its method. */
export async function exportRoute (
  scope: FastifyInstance,
  { mappings, url, ...start }: ExportRouteOptions
): Promise<void> {
  for (const schema of [bulkResource, exportBody]) scope.addSchema(schema)
  scope.post('/bulk/export', { config: { effect: 'read', target: 'any' }, ...described }, async (request, reply) => {
    if (rawQuery(request.raw.url) !== '') {
      throw new Failure('BAD_REQUEST', { message: 'Send a request body that says what to export.' })
    }
    const input = limitExport(request.caller, parseExportRequest(request.body, mappings))
    const { id, status } = await beginExport(start, request.caller, {
      kind: 'export',
      level: 'system',
      url: `${url}/v1/bulk/export`,
      ...input
    })
    reply.code(202)
    return { jobId: id, status, message: `The export has started. Its status is at /v1/bulk/jobs/${id}.` }
  })
}
