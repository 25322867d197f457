import { Type } from 'typebox'
import {
  commonFailures, describeRoute, buildContent, buildResponses, type JsonSchema
} from '../envelope/openapi-responses.js'
import { isTenantType, resourceTypes } from '../fhir/resource-types.js'
import { mappings } from '../mappings/registry.js'
import { jobIdForm } from './model/job.js'

/** Media types of newline-delimited JSON: FHIR's (http://hl7.org/fhir/uv/bulkdata/), and those for other content. */
export const ndjsonTypes = ['application/fhir+ndjson', 'application/x-ndjson', 'application/ndjson'] as const

/** A body of records, one a line. */
export const ndjsonContent = buildContent(ndjsonTypes, {
  schema: { type: 'string', description: 'One record per line.' }
})

/** The options of a route of jobs, which describe it. */
export function describeJobRoute (description: Omit<Parameters<typeof describeRoute>[0], 'tags'>) {
  return describeRoute({ tags: ['bulk'], ...description })
}

/** The parameter in the path of a route of one job. */
export const jobIdParameters = {
  path: { id: { type: 'string', pattern: jobIdForm, description: 'The id of the job.' } }
} as const

/** The schema to which `BulkResource` refers. */
export const bulkResource = {
  $id: 'BulkResource',
  type: 'string',
  enum: [...mappings.map(({ path }) => path), ...[...resourceTypes].filter(isTenantType)],
  description: 'A resource by its path or R4 type: `patients` or `Patient`.'
}

const started = Type.Object({ jobId: Type.String(), status: Type.Literal('pending'), message: Type.String() })

/** The responses of a request that starts a job. */
export function describeStartResponses (description: string): JsonSchema {
  return buildResponses({ status: 202, description, data: { ...started } }, [
    ...commonFailures,
    'INVALID_JSON',
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    'VALIDATION_ERROR'
  ])
}

/** A resource in a request, and what it is there for. */
export const describeBulkResource = (description: string): JsonSchema =>
  ({ allOf: [{ $ref: `${bulkResource.$id}#` }], description })
