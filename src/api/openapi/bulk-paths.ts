import { plainTypes } from '../../envelope/body.js'
import {
  responsesOf,
  commonFailures,
  failuresOf,
  header,
  inTypes,
  pageOf,
  parameter,
  referTo,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { catalog } from '../../envelope/failures.js'
import { exportFormats, jobIdForm, jobKinds, jobStatuses } from '../../jobs/model/job.js'
import { mappings } from '../../mappings/registry.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'

/** The tag of bulk jobs. */
export const bulkTag = {
  name: 'bulk',
  description:
    'Exports and imports of any size, as jobs that a client polls. Requests for the state of a job have a limit per minute of their own. These requests do not support `Idempotency-Key`.'
}

const jobId: JsonSchema = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the job.',
  schema: { type: 'string', pattern: jobIdForm }
}
const fileName: JsonSchema = {
  name: 'name',
  in: 'path',
  required: true,
  description: 'The name of the file, as in the URL that the job lists.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' }
}
const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description })
const time = (description: string): JsonSchema => ({ type: 'string', format: 'date-time', description })
const issueProperties = { code: { type: 'string', enum: Object.keys(catalog) }, message: { type: 'string' } }
const file: JsonSchema = {
  type: 'object',
  properties: { resourceType: { type: 'string' }, count: count('Lines.'), url: { type: 'string' } },
  required: ['resourceType', 'count', 'url']
}

const exportBody: JsonSchema = {
  type: 'object',
  properties: {
    resourceTypes: {
      type: 'array',
      minItems: 1,
      items: referTo('BulkResource'),
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

/** What the operations of jobs refer to. */
export const bulkSchemas: Readonly<Record<string, JsonSchema>> = {
  BulkExport: exportBody,
  BulkResource: {
    type: 'string',
    enum: [...mappings.map(({ path }) => path), ...[...resourceTypes].filter(isTenantType)],
    description: 'A resource by its path or R4 type: `patients` or `Patient`.'
  },
  BulkJob: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      type: { type: 'string', enum: jobKinds },
      status: { type: 'string', enum: jobStatuses },
      totalRecords: count('Absent until it is known.'),
      processedRecords: count('Records processed so far, including failed ones.'),
      failedRecords: count('Of these, the records that failed.'),
      recordsPerSecond: {
        type: 'number',
        minimum: 0,
        description: 'Average since the job started; absent until a record is processed.'
      },
      secondsLeft: count('Estimated at that rate; absent if unknown.'),
      downloadUrl: {
        type: 'string',
        description: 'The results of an import, or the file of an export that has only one.'
      },
      files: { type: 'array', items: file, description: 'The files of a completed export.' },
      errors: {
        type: 'array',
        maxItems: 100,
        items: {
          type: 'object',
          properties: { line: count('Line number, from 1.'), ...issueProperties },
          required: ['line', 'code', 'message']
        },
        description: 'The first failed lines of an import.'
      },
      leftOutTypes: {
        type: 'array',
        items: { type: 'string' },
        description: 'The R4 types that an export without named types lacks, because the scopes of the key do not include them.'
      },
      failure: {
        type: 'object',
        properties: issueProperties,
        required: ['code', 'message'],
        description: 'Why the job as a whole failed.'
      },
      createdAt: time('When the job was requested.'),
      startedAt: time('When the job started to run.'),
      completedAt: time('When the job ended, with any status.'),
      expiresAt: time('When the job and its files are deleted.')
    },
    required: [
      'id',
      'type',
      'status',
      'processedRecords',
      'failedRecords',
      'files',
      'errors',
      'createdAt',
      'expiresAt'
    ]
  }
}

const job = referTo('BulkJob')
const tags = [bulkTag.name]
const lines: JsonSchema = { schema: { type: 'string', description: 'One record per line.' } }
const content: JsonSchema = {
  'application/fhir+ndjson': lines,
  'application/x-ndjson': lines,
  'application/ndjson': lines
}

const begun: JsonSchema = {
  type: 'object',
  properties: { jobId: { type: 'string' }, status: { type: 'string', const: 'pending' }, message: { type: 'string' } },
  required: ['jobId', 'status', 'message']
}

/** The paths of bulk jobs. */
export const bulkPaths: Readonly<Record<string, JsonSchema>> = {
  '/v1/bulk/export': {
    post: {
      operationId: 'beginBulkExport',
      tags,
      summary: 'Export records',
      description:
        "Exports the records of the key's organization and mode as newline-delimited JSON, one file per type, to download once the job is completed. The key needs the scope read.",
      requestBody: { required: true, content: inTypes(plainTypes, { schema: referTo('BulkExport') }) },
      responses: responsesOf({ status: 202, description: 'The export has started.', data: begun }, [
        ...commonFailures,
        'INVALID_JSON',
        'PAYLOAD_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
        'VALIDATION_ERROR'
      ])
    }
  },
  '/v1/bulk/jobs': {
    get: {
      operationId: 'searchBulkJobs',
      tags,
      summary: 'List bulk jobs',
      description: "The jobs of the key's organization and mode that have not expired, newest first.",
      parameters: [parameter('Count'), parameter('Cursor')],
      responses: responsesOf({ status: 200, description: 'A page.', data: pageOf(job) }, [
        ...commonFailures,
        'INVALID_CURSOR'
      ])
    }
  },
  '/v1/bulk/jobs/{id}': {
    get: {
      operationId: 'readBulkJob',
      tags,
      summary: 'Read the status of a bulk job',
      parameters: [jobId],
      responses: responsesOf({ status: 200, description: 'The current state of the job.', data: job }, [
        ...commonFailures,
        'NOT_FOUND'
      ])
    },
    delete: {
      operationId: 'cancelBulkJob',
      tags,
      summary: 'Cancel a bulk job',
      description:
        'A job that has ended does not change. Records that an import has written are kept; its results list them.',
      parameters: [jobId],
      responses: responsesOf({ status: 200, description: 'The job after the request.', data: job }, [
        ...commonFailures,
        'NOT_FOUND'
      ])
    }
  },
  '/v1/bulk/jobs/{id}/files/{name}': {
    get: {
      operationId: 'downloadBulkFile',
      tags,
      summary: 'Download a file of a completed export',
      description:
        'Newline-delimited JSON, compressed if the client accepts gzip. To resume an interrupted download, send `Range` and `If-Range`; the rest is uncompressed.',
      parameters: [
        jobId,
        fileName,
        parameter('IfNoneMatch'),
        {
          name: 'Range',
          in: 'header',
          description: 'One part of the file, such as `bytes=1000-`.',
          schema: { type: 'string' }
        },
        { name: 'If-Range', in: 'header', description: 'The ETag of the file to resume.', schema: { type: 'string' } }
      ],
      responses: {
        200: { description: 'The whole file.', headers: { ETag: header('ETag') }, content },
        206: { description: 'The requested part.', headers: { ETag: header('ETag') }, content },
        304: { $ref: '#/components/responses/NotModified' },
        ...failuresOf([...commonFailures, 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE'])
      }
    }
  }
}
