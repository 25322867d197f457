import type { FastifyInstance } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import { rawQuery } from '../../envelope/query.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { limitExport, parseExportRequest } from './request.js'
import { beginExport, type ExportStart } from './begin-export.js'

/** The options of the route. */
interface ExportRouteOptions extends ExportStart {
  readonly mappings: readonly Mapping[]
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
}

/** `POST /v1/bulk/export`: needs only the scope read, despite its method. */
export async function exportRoute (
  scope: FastifyInstance,
  { mappings, url, ...start }: ExportRouteOptions
): Promise<void> {
  scope.post('/bulk/export', { config: { effect: 'read', target: 'any' } }, async (request, reply) => {
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
