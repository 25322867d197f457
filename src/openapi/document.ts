import { printJson } from '../json.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import { envelopeSchemas, failureAnswers, headerComponents } from './answers.js'
import { exampleOf } from './example.js'
import { resourcePaths } from './operations.js'
import { resourceSchemas, type JsonSchema } from './schemas.js'

/** What the document says of where it is served. */
export interface DocumentFacts { readonly version: string, readonly url: string }

/** The OpenAPI 3.1 document of the simple resources, derived from their declarations: https://spec.openapis.org/oas/v3.1.1 */
export function openApiDocument (mappings: readonly Mapping[], { version, url }: DocumentFacts): JsonSchema {
  return {
    openapi: '3.1.1',
    info: {
      title: 'clinigate',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'Clinical records as simple JSON, stored as FHIR R4. Every request needs a secret key in `x-api-key`; every answer has the same envelope.'
    },
    servers: [{ url }],
    security: [{ key: [] }],
    tags: mappings.map(tagOf),
    paths: Object.assign({}, ...mappings.map(resourcePaths)),
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: '`svc_test_…` or `svc_live_…`' } },
      headers: headerComponents,
      responses: failureAnswers(),
      schemas: Object.assign({ ...envelopeSchemas, PatchOperation: patchOperation }, ...mappings.map(resourceSchemas))
    }
  }
}

/** The resource's page: the simple form beside the FHIR that it becomes. */
function tagOf (mapping: Mapping): JsonSchema {
  const simple = exampleOf(mapping)
  const fhir = mapping.toFhir(mapping.withDefaults(simple, { now: exampleTime, keyName: 'intake service', newUrl: () => 'https://example.org/canonical/1' }))
  const block = (value: unknown): string => `\`\`\`json\n${JSON.stringify(JSON.parse(printJson(value)), null, 2)}\n\`\`\``
  return {
    name: mapping.path,
    description: `${mapping.about}\n\nWhat you send:\n\n${block(simple)}\n\nThe FHIR \`${mapping.type}\` that it becomes, before it is stored:\n\n${block(fhir)}`
  }
}

const exampleTime = '2026-03-14T09:30:00.000Z'

const patchOperation: JsonSchema = {
  type: 'object',
  description: 'One operation of RFC 6902 on the simple form.',
  properties: {
    op: { type: 'string', enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
    path: { type: 'string', pattern: '^/' },
    from: { type: 'string', pattern: '^/' },
    value: {}
  },
  required: ['op', 'path']
}
