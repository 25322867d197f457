import { answersOf, everywhere, failuresOf, referTo, type JsonSchema } from '../envelope/documented-answers.js'
import { jobIdForm } from '../jobs/job.js'
import { bulkTag } from './bulk-paths.js'

const tags = [bulkTag.name]
const jobId: JsonSchema = { name: 'id', in: 'path', required: true, description: 'The id of the job.', schema: { type: 'string', pattern: jobIdForm } }
const resourceType: JsonSchema = { ...referTo('BulkResource'), description: 'The resource of lines that do not say their `resourceType`.', examples: ['patients'] }
const dryRun: JsonSchema = { type: 'boolean', default: false, description: 'Checks everything and writes nothing.' }
const lines: JsonSchema = { schema: { type: 'string', description: 'A record a line.' } }
const ndjson: JsonSchema = { 'application/fhir+ndjson': lines, 'application/x-ndjson': lines, 'application/ndjson': lines }

const importBody: JsonSchema = {
  type: 'object',
  properties: {
    resourceType,
    data: { type: 'string', minLength: 1, description: 'Newline-delimited JSON: a record a line.' },
    sources: {
      type: 'array',
      minItems: 1,
      maxItems: 1_000,
      description: 'In place of `data`: where the lines are fetched from, at hosts that the operator of the gateway allows.',
      items: { type: 'object', properties: { resourceType, url: { type: 'string', description: 'Begins with `https://`.' } }, required: ['url'], additionalProperties: false }
    },
    dryRun
  },
  oneOf: [{ required: ['data'] }, { required: ['sources'] }],
  additionalProperties: false
}

const begun: JsonSchema = {
  type: 'object',
  properties: { jobId: { type: 'string' }, status: { type: 'string', const: 'pending' }, message: { type: 'string' } },
  required: ['jobId', 'status', 'message']
}

const description = `Of any size, as newline-delimited JSON; compressed with gzip where \`Content-Encoding\` says so. A line with \`resourceType\` is FHIR, one without is the simple form, and every line is checked as the same record sent alone.

- A line whose \`id\` is that of a record of the key's organization and mode updates it: FHIR replaces it, the simple form changes the fields that it holds. Any other \`id\` is a name by which lines refer to each other, in any order and in circles; the record gets an id of its own, the same each time that the import is sent.
- A line without \`id\` that was imported before is left as it is.
- Each line has a result, an empty one as well, at \`/v1/bulk/jobs/{id}/results\`; a line that is wrong stops no other. Two lines with one \`id\` are a mistake of the second.
- Each record counts as one request of the month; past the allowance its result is \`MONTHLY_QUOTA_EXCEEDED\` or \`SANDBOX_QUOTA_EXCEEDED\`, and it is not written. Records of a dry run don't count.`

/** The paths of imports. */
export const importPaths: Readonly<Record<string, JsonSchema>> = {
  '/v1/bulk/import': {
    post: {
      operationId: 'beginBulkImport',
      tags,
      summary: 'Import records',
      description,
      parameters: [
        { name: 'resourceType', in: 'query', description: 'As in JSON, which comes first.', schema: resourceType },
        { name: 'dryRun', in: 'query', description: 'As in JSON, which comes first.', schema: dryRun }
      ],
      requestBody: { required: true, content: { 'application/json': { schema: importBody }, ...ndjson } },
      responses: answersOf({ status: 202, description: 'The import has begun.', data: begun }, [...everywhere, 'INVALID_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_ERROR'])
    }
  },
  '/v1/bulk/jobs/{id}/results': {
    get: {
      operationId: 'readBulkResults',
      tags,
      summary: 'Read the results of an import',
      description: 'A result a line of the input that was read by now, in its order: `line`, `status` (created, updated, unchanged, valid, failed or pending), `resourceType`, and the record\'s `id` or `code`, `message` and `field`.',
      parameters: [jobId],
      responses: { 200: { description: 'The results as they stand.', content: ndjson }, ...failuresOf([...everywhere, 'NOT_FOUND']) }
    }
  }
}
