import type { FastifyInstance } from 'fastify'
import { Failure, maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import { plainTypes } from '../../envelope/body.js'
import { buildContent, referTo } from '../../envelope/openapi-responses.js'
import { getRawQuery, toSafeName } from '../../envelope/query.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { bulkResource, describeJobRoute, describeStartResponses } from '../describe-jobs.js'
import { exportFormats, limitTypes, type ExportRequest } from '../model/job.js'
import { beginExport, type ExportStart } from './begin-export.js'
import type { Caller } from '../../keys/caller.js'
import { isLimited, may, requireScope, type Target } from '../../keys/scopes.js'
import { searchDate, formatDescriptions } from '../../mappings/core/formats.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'

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
  body: buildContent(plainTypes, { schema: referTo('BulkExport') }),
  responses: describeStartResponses('The export has started.')
})

/** `POST /v1/bulk/export`: needs only the scope read, despite its method. */
export async function exportRoute (
  scope: FastifyInstance,
  { mappings, url, ...start }: ExportRouteOptions
): Promise<void> {
  for (const schema of [bulkResource, exportBody]) scope.addSchema(schema)
  scope.post('/bulk/export', { config: { effect: 'read', target: 'any' }, ...described }, async (request, reply) => {
    if (getRawQuery(request.raw.url) !== '') {
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

type ExportInput = Omit<ExportRequest, 'url' | 'kind' | 'level'> & {
  /** Whether the client named the types; otherwise they are all that there are. */
  readonly namesTypes: boolean
}

const fields = ['resourceTypes', 'since', 'format']

/**
 * Parses the body of `POST /v1/bulk/export`.
 * @throws {Failure} VALIDATION_ERROR with every failing field; BAD_REQUEST for a body that is no object
 */
function parseExportRequest (body: unknown, mappings: readonly Mapping[]): ExportInput {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Failure('BAD_REQUEST', { message: 'Send one JSON object; {} exports all records.' })
  }
  const { resourceTypes: named, since, format = 'fhir', ...others } = body as Record<string, unknown>
  const isSimple = format === 'simple'
  const possible = isSimple ? mappings.map(({ type }) => type) : [...resourceTypes].filter(isTenantType)
  const types = named === undefined ? possible : parseTypes(named, mappings)
  const issues: Issue[] = [
    ...Object.keys(others)
      .slice(0, maxIssues)
      .map(name => fieldIssue(toSafeName(name), `no such field; an export takes ${fields.join(', ')}`)),
    ...(format === 'fhir' || isSimple ? [] : [fieldIssue('format', 'expected simple or fhir')]),
    ...(since === undefined || isTime(since)
      ? []
      : [fieldIssue('since', `expected ${formatDescriptions['fhir-dateTime']}`)]),
    ...(types === undefined
      ? [fieldIssue('resourceTypes', 'expected a list of at least one name')]
      : checkTypes(types, possible, isSimple))
  ]
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
  return {
    types: [...new Set(types as string[])],
    namesTypes: named !== undefined,
    format: isSimple ? 'simple' : 'fhir',
    ...(since !== undefined && { since: toUtc(since as string) })
  }
}

/**
 * The export without the types that the caller may not read in its format.
 * @throws {Failure} INSUFFICIENT_SCOPE when the client named one of them, or there are no others
 */
function limitExport (caller: Caller, { namesTypes, ...request }: ExportInput): Omit<ExportInput, 'namesTypes'> {
  const { scopes } = caller
  if (!isLimited(scopes, 'read')) return request
  const toTarget = (type: string): Target => (request.format === 'fhir' ? { fhirType: type } : { type })
  const limited = limitTypes(request, type => may(scopes, 'read', toTarget(type)))
  const [refused] = limited.leftOutTypes ?? []
  if (refused !== undefined && (namesTypes || limited.types.length === 0)) {
    requireScope(caller, 'read', toTarget(refused))
  }
  return limited
}

/** R4 types by R4 name or path, `Patient` or `patients`; undefined for an unknown name, or without a list. */
function parseTypes (named: unknown, mappings: readonly Mapping[]): Array<string | undefined> | undefined {
  if (!Array.isArray(named) || named.length === 0) return undefined
  const byPath = new Map<unknown, string>(mappings.map(({ path, type }) => [path, type]))
  return named.map(name => byPath.get(name) ?? (typeof name === 'string' && isTenantType(name) ? name : undefined))
}

function checkTypes (
  types: ReadonlyArray<string | undefined>, possible: readonly string[], isSimple: boolean
): Issue[] {
  const isWrong = (type: string | undefined): boolean => type === undefined || (isSimple && !possible.includes(type))
  return [...types.entries()].filter(([, type]) => isWrong(type)).slice(0, maxIssues).map(([at, type]) => {
    const field = `resourceTypes[${at}]`
    if (type === undefined) {
      return fieldIssue(field, 'expected a resource of this API, such as patients, or an R4 type, such as Patient')
    }
    return fieldIssue(field, 'has no simple form; use the format fhir', 'invariant')
  })
}

const dayPattern = '2026-03-14'.length

/** Partial dates, a month or a year, are not accepted. */
const isTime = (since: unknown): boolean =>
  typeof since === 'string' && since.length >= dayPattern && searchDate.isValid(since)

const toUtc = (since: string): string => since.includes('T') ? since : `${since}T00:00:00Z`
