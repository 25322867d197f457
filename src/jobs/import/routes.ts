import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import { parseQuery, toSafeName, getRawQuery, invalidParameter } from '../../envelope/query.js'
import { buildContent, referTo } from '../../envelope/openapi-responses.js'
import { plainTypes, refuseEncoded, requireUtf8 } from '../../envelope/body.js'
import {
  bulkResource, describeBulkResource, describeJobRoute, ndjsonContent, ndjsonTypes, describeStartResponses
} from '../describe-jobs.js'
import { decompress } from './decompress.js'
import {
  invalidOption,
  maxSources,
  parseSources,
  startImport,
  parseResourceType,
  type ImportInput,
  type StartOptions,
  type ImportOptions
} from './start-import.js'

/** The options of the route. */
interface ImportRouteOptions extends StartOptions {
  /** The maximum size of a JSON body; NDJSON has no limit. */
  readonly bodyBytes: number
}

const resourceType = {
  ...describeBulkResource('The resource of lines without `resourceType`.'),
  examples: ['patients']
}
const dryRun = { type: 'boolean', default: false, description: 'Check everything without writing.' }

const importBody = {
  $id: 'BulkImport',
  type: 'object',
  properties: {
    resourceType,
    data: { type: 'string', minLength: 1, description: 'Newline-delimited JSON, one record per line.' },
    sources: {
      type: 'array',
      minItems: 1,
      maxItems: maxSources,
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

const importDescription = `Imports any number of records as newline-delimited JSON, compressed with gzip if \`Content-Encoding\` says so. A line with \`resourceType\` is FHIR, one without is the simple form. Every line is checked like a single request.

- A line whose \`id\` is that of a record of the key's organization and mode updates this record: FHIR replaces it, the simple form changes the given fields. Any other \`id\` is a name with which lines refer to each other, in any order and in cycles. The record gets a new id, the same one each time the import is sent.
- A line without \`id\` that was already imported is left unchanged.
- Each line, even an empty one, has a result at \`/v1/bulk/jobs/{id}/results\`. A failing line does not stop the others. If two lines have the same \`id\`, the second one fails.
- Each record counts as one request. Beyond the monthly quota a record is not written, and its result is \`MONTHLY_QUOTA_EXCEEDED\` or \`SANDBOX_QUOTA_EXCEEDED\`. Records of a dry run do not count.`

const described = describeJobRoute({
  operationId: 'beginBulkImport',
  summary: 'Import records',
  description: importDescription,
  query: {
    resourceType: describeBulkResource('As in the JSON body, which takes precedence.'),
    dryRun: { ...dryRun, description: 'As in the JSON body, which takes precedence.' }
  },
  body: { ...buildContent(plainTypes, { schema: referTo('BulkImport') }), ...ndjsonContent },
  responses: describeStartResponses('The import has started.')
})

/** `POST /v1/bulk/import`: NDJSON of any size, or JSON with the lines as a string or with the URLs of sources. */
export async function importRoute (scope: FastifyInstance, options: ImportRouteOptions): Promise<void> {
  for (const schema of [bulkResource, importBody]) scope.addSchema(schema)
  scope.addContentTypeParser(
    [...ndjsonTypes],
    (request: FastifyRequest, stream: Readable, done: (error: null, body: AsyncIterable<Buffer>) => void) => {
      // An upload that is refused halfway stays open: the rest is read after the response.
      done(
        null,
        decompress(
          { [Symbol.asyncIterator]: () => stream.iterator({ destroyOnReturn: false }) },
          request.headers['content-encoding']
        )
      )
    }
  )
  scope.post(
    '/bulk/import',
    {
      bodyLimit: options.bodyBytes,
      config: { target: 'any', isStreamed: true, bodyTypes: [...ndjsonTypes, ...plainTypes] },
      ...described
    },
    async (request, reply) => {
      const job = await startImport(
        options,
        request.caller,
        isLines(request.body) ? parseStreamedInput(request, request.body) : parseJsonInput(request, options)
      )
      reply.code(202)
      return {
        jobId: job.id,
        status: job.status,
        message: `The import has started. Its status is at /v1/bulk/jobs/${job.id}.`
      }
    }
  )
}

const isLines = (body: unknown): body is AsyncIterable<Buffer> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

function parseStreamedInput (request: FastifyRequest, input: AsyncIterable<Buffer>): ImportInput {
  requireUtf8(request.headers['content-type'] ?? '')
  return {
    options: parseImportOptions(parseImportQuery(request)),
    input,
    announced: Number(request.headers['content-length'] ?? 0)
  }
}

function parseJsonInput (request: FastifyRequest, { rules }: ImportRouteOptions): ImportInput {
  refuseEncoded(request)
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Failure('BAD_REQUEST', {
      message: 'Send one JSON object with data and its resourceType, or with sources.'
    })
  }
  const { data, sources, ...options } = body as Record<string, unknown>
  if ((data === undefined) === (sources === undefined)) throw invalidOption('data', 'send either data or sources')
  if (data !== undefined && typeof data !== 'string') {
    throw invalidOption('data', 'expected NDJSON as a string, with one record per line')
  }
  const inQuery = parseImportQuery(request)
  // An option that the body takes the place of is refused, too, where it is wrong.
  parseImportOptions(inQuery)
  return {
    options: parseImportOptions({ ...inQuery, ...options }),
    input: data ?? parseSources(sources, rules)
  }
}

/** The import options in the query; those in a JSON body take precedence. */
function parseImportQuery ({ raw }: FastifyRequest): Readonly<Record<string, unknown>> {
  const query = new Map<string, unknown>()
  for (const [name, value] of parseQuery(getRawQuery(raw.url))) {
    if (query.has(name)) throw invalidParameter(toSafeName(name), 'is given twice')
    query.set(name, name === 'dryRun' && /^(?:true|false)$/.test(value) ? value === 'true' : value)
  }
  return Object.fromEntries(query)
}

function parseImportOptions ({
  resourceType,
  dryRun = false,
  ...more
}: Readonly<Record<string, unknown>>): ImportOptions {
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) {
    throw invalidParameter(
      toSafeName(unknown),
      'no such parameter; an import takes resourceType and dryRun, and in a JSON body also data or sources'
    )
  }
  if (typeof dryRun !== 'boolean') throw invalidOption('dryRun', 'expected true or false')
  return { ...(resourceType !== undefined && { type: parseResourceType(resourceType) }), dryRun }
}
