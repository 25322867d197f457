import { plainTypes } from '../../envelope/body.js'
import {
  responsesOf,
  commonFailures,
  failuresOf,
  inTypes,
  referTo,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { jobIdForm } from '../../jobs/model/job.js'
import { bulkTag } from './bulk-paths.js'

const tags = [bulkTag.name]
const jobId: JsonSchema = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the job.',
  schema: { type: 'string', pattern: jobIdForm }
}
const resourceType: JsonSchema = {
  ...referTo('BulkResource'),
  description: 'The resource of lines without `resourceType`.',
  examples: ['patients']
}
const dryRun: JsonSchema = { type: 'boolean', default: false, description: 'Check everything without writing.' }
const lines: JsonSchema = { schema: { type: 'string', description: 'One record per line.' } }
const ndjson: JsonSchema = {
  'application/fhir+ndjson': lines,
  'application/x-ndjson': lines,
  'application/ndjson': lines
}

const importBody: JsonSchema = {
  type: 'object',
  properties: {
    resourceType,
    data: { type: 'string', minLength: 1, description: 'Newline-delimited JSON, one record per line.' },
    sources: {
      type: 'array',
      minItems: 1,
      maxItems: 1_000,
      description: "Instead of `data`: URLs to fetch the lines from, on hosts that the gateway's operator allows.",
      items: {
        type: 'object',
        properties: { resourceType, url: { type: 'string', description: 'Must begin with `https://`.' } },
        required: ['url'],
        additionalProperties: false
      }
    },
    dryRun
  },
  oneOf: [{ required: ['data'] }, { required: ['sources'] }],
  additionalProperties: false
}

/** What the operations of imports refer to. */
export const importSchemas: Readonly<Record<string, JsonSchema>> = { BulkImport: importBody }

const begun: JsonSchema = {
  type: 'object',
  properties: { jobId: { type: 'string' }, status: { type: 'string', const: 'pending' }, message: { type: 'string' } },
  required: ['jobId', 'status', 'message']
}

const description = `Imports any number of records as newline-delimited JSON, compressed with gzip if \`Content-Encoding\` says so. A line with \`resourceType\` is FHIR, one without is the simple form. Every line is checked like a single request.

- A line whose \`id\` is that of a record of the key's organization and mode updates this record: FHIR replaces it, the simple form changes the given fields. Any other \`id\` is a name with which lines refer to each other, in any order and in cycles. The record gets a new id, the same one each time the import is sent.
- A line without \`id\` that was already imported is left unchanged.
- Each line, even an empty one, has a result at \`/v1/bulk/jobs/{id}/results\`. A failing line does not stop the others. If two lines have the same \`id\`, the second one fails.
- Each record counts as one request. Beyond the monthly quota a record is not written, and its result is \`MONTHLY_QUOTA_EXCEEDED\` or \`SANDBOX_QUOTA_EXCEEDED\`. Records of a dry run do not count.`

/** The paths of imports. */
export const importPaths: Readonly<Record<string, JsonSchema>> = {
  '/v1/bulk/import': {
    post: {
      operationId: 'beginBulkImport',
      tags,
      summary: 'Import records',
      description,
      parameters: [
        {
          name: 'resourceType',
          in: 'query',
          description: 'As in the JSON body, which takes precedence.',
          schema: resourceType
        },
        { name: 'dryRun', in: 'query', description: 'As in the JSON body, which takes precedence.', schema: dryRun }
      ],
      requestBody: { required: true, content: { ...inTypes(plainTypes, { schema: referTo('BulkImport') }), ...ndjson } },
      responses: responsesOf({ status: 202, description: 'The import has started.', data: begun }, [
        ...commonFailures,
        'INVALID_JSON',
        'PAYLOAD_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
        'VALIDATION_ERROR'
      ])
    }
  },
  '/v1/bulk/jobs/{id}/results': {
    get: {
      operationId: 'readBulkResults',
      tags,
      summary: 'Read the results of an import',
      description:
        "One result for each input line that is not blank, in input order: `line`, `status` (created, updated, unchanged, valid, failed or pending), `resourceType`, and the record's `id` or `code`, `message` and `field`. A line that was accepted with warnings has `warnings`, as `meta.warnings` of a single write, at most the first five. Lines that are still pending when the job has ended were not imported.",
      parameters: [jobId],
      responses: {
        200: { description: 'The results so far.', content: ndjson },
        ...failuresOf([...commonFailures, 'NOT_FOUND'])
      }
    }
  }
}
