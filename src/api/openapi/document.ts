import {
  envelopeSchemas,
  headerComponents,
  buildSharedResponses,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { catalog, type FailureCode } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { DescribedRoutes } from './described-routes.js'
import { Components } from './components.js'
import { buildExampleResource, buildExample } from './example.js'
import { buildResourcePaths } from './operations.js'
import { filterSchemas, buildSharedParameters } from './parameters.js'
import { addResourceSchemas } from './resource-schemas.js'

/** The facts about the server that the document states. */
interface DocumentFacts {
  readonly version: string
  readonly url: string
  /** The routes besides those of the resources. */
  readonly described: DescribedRoutes
}

/**
 * The OpenAPI 3.1 document of the simple resources, derived from their declarations:
 * https://spec.openapis.org/oas/v3.1.1
 */
export function buildOpenApiDocument (
  mappings: readonly Mapping[],
  { version, url, described }: DocumentFacts
): JsonSchema {
  const parameters = buildSharedParameters(mappings)
  return {
    openapi: '3.1.1',
    info: { title: 'clinigate', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }, description },
    servers: [{ url }],
    security: [{ key: [] }, { bearer: [] }],
    tags: [...mappings.map(buildTag), ...routeTags],
    paths: Object.assign(
      {},
      ...mappings.map(mapping => buildResourcePaths(mapping, { mappings, parameters })),
      described.paths
    ),
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: '`svc_test_…` or `svc_live_…`, with scopes such as `read` or `patients:read`' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The same key after `Authorization: Bearer`.' }
      },
      headers: headerComponents,
      parameters,
      responses: buildSharedResponses(documented),
      schemas: buildSchemas(mappings, described)
    }
  }
}

/** The groups of the routes that are described where they stand, by their tags. */
const routeTags = [
  {
    name: 'bulk',
    description:
      'Exports and imports of any size, as jobs that a client polls. Requests for the state of a job have a limit per minute of their own. These requests do not support `Idempotency-Key`.'
  },
  {
    name: 'webhooks',
    description:
      'Events of your organization, sent to your URLs as they happen and signed as the [Standard Webhooks](https://www.standardwebhooks.com) specification says. The key needs the scope webhooks; it manages the webhooks of its mode, whatever records it may read. These requests do not support `Idempotency-Key`.'
  },
  { name: 'service', description: 'Health, capabilities and usage.' }
]

const description = `Clinical records as simple JSON, stored as FHIR R4.

Every request needs a secret key in \`x-api-key\`, or after \`Authorization: Bearer\`; both at once only if they are the same. A key may be limited by its scopes: \`read\` or \`write\`, or to single resources, as \`patients:read\`, \`observations:*\` and, for raw FHIR, \`fhir/Patient:read\`; what a request needs beyond them is 403. Every response is an envelope with \`data\` and \`meta\`. \`meta\` contains the request id and the rate limits, which are also in the headers \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\`. Errors explain with \`code\`, \`message\` and \`issues\` what to do.

A body with any invalid or unknown field is rejected, and the error names every such field. Wherever \`GET\` is supported, \`HEAD\` is too.

In a \`PATCH\` by merge, a field with its current value is not a change, so a record can be sent back as it was read, including read-only fields; a number that JavaScript rounded, such as 4.1 for 4.10, keeps its digits. With the \`versionId\` of an earlier version it is refused with 409. What names the old value goes with it: a new \`code\` takes the display, text and unit of the old code with it, a new \`unit\` its code. An object in which nothing is left is removed. What the simple form does not show stays, in a list of the same length and order for each item too; what described only the old value is removed, and \`meta.warnings\` names it. A narrative that was stored by raw FHIR stays as it was; \`meta.warnings\` says so, since it may no longer say what the record does.

The machine-readable version of this page is [openapi.json](/openapi.json).`

/** A path that is not in the document fails differently from those that are. */
const documented = new Set((Object.keys(catalog) as FailureCode[]).filter(code => code !== 'METHOD_NOT_ALLOWED'))

function buildSchemas (mappings: readonly Mapping[], described: DescribedRoutes): Record<string, JsonSchema> {
  const components = new Components()
  for (const [name, schema] of Object.entries({
    ...envelopeSchemas,
    ...filterSchemas,
    ...described.schemas,
    PatchOperation: patchOperation,
    Patch: patch,
    Bundle: bundle
  })) { components.define(name, schema, () => schema) }
  for (const mapping of mappings) addResourceSchemas(mapping, components)
  return components.all()
}

/** The resource's page: the simple form next to the FHIR that it becomes. */
function buildTag (mapping: Mapping): JsonSchema {
  const formatJsonBlock = (value: unknown): string =>
    `\`\`\`json\n${JSON.stringify(JSON.parse(printJson(value)), null, 2)}\n\`\`\``
  return {
    name: mapping.path,
    description: [
      mapping.about,
      '**What you send**',
      formatJsonBlock(buildExample(mapping)),
      `**The resulting FHIR ${mapping.type}**`,
      formatJsonBlock(buildExampleResource(mapping))
    ].join('\n\n')
  }
}

const pointer: JsonSchema = { type: 'string', pattern: '^/' }

const buildOperationSchema = (op: readonly string[], needed: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { op: { type: 'string', enum: op }, path: pointer, ...needed },
  required: ['op', 'path', ...Object.keys(needed)]
})

const patchOperation: JsonSchema = {
  description: 'One JSON Patch operation (RFC 6902) on the simple form.',
  anyOf: [
    buildOperationSchema(['add', 'replace', 'test'], { value: { description: 'Any JSON value.' } }),
    buildOperationSchema(['move', 'copy'], { from: pointer }),
    buildOperationSchema(['remove'])
  ]
}

const patch: JsonSchema = { type: 'array', items: { $ref: '#/components/schemas/PatchOperation' }, maxItems: 1000 }

const bundle: JsonSchema = {
  type: 'object',
  description: 'A searchset of FHIR resources: http://hl7.org/fhir/R4/bundle.html#searchset',
  properties: {
    resourceType: { type: 'string', const: 'Bundle' },
    type: { type: 'string', const: 'searchset' },
    total: { type: 'integer' },
    entry: { type: 'array', items: { type: 'object', properties: { resource: { type: 'object' } } } }
  },
  required: ['resourceType', 'type', 'entry']
}
