import { anyone, enveloped, failuresOf, type JsonSchema } from '../envelope/documented-answers.js'

/** The tag of what concerns the gateway itself. */
export const serviceTag = { name: 'service', description: 'How the gateway is and what it offers. Needs no key.' }

const open = { tags: [serviceTag.name], security: [] }
const json = (schema: JsonSchema): JsonSchema => ({ 'application/json': { schema } })

const check: JsonSchema = { type: 'object', properties: { status: { type: 'string', enum: ['ok', 'degraded'] } }, required: ['status'] }

const health: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'degraded'], description: 'degraded: some requests will fail or work from old data.' },
    version: { type: 'string' },
    uptimeSeconds: { type: 'integer', minimum: 0 },
    checks: { type: 'object', description: 'What the gateway needs, by name.', additionalProperties: check }
  },
  required: ['status', 'version', 'uptimeSeconds', 'checks']
}

const capabilities: JsonSchema = {
  type: 'object',
  description: 'A CapabilityStatement: http://hl7.org/fhir/R4/capabilitystatement.html',
  properties: { resourceType: { type: 'string', const: 'CapabilityStatement' } },
  required: ['resourceType']
}

const openApi: JsonSchema = { type: 'object', properties: { openapi: { type: 'string' } }, required: ['openapi'] }

/** The paths that need no key. */
export const servicePaths: Readonly<Record<string, JsonSchema>> = {
  '/health': {
    get: {
      operationId: 'readHealth',
      ...open,
      summary: 'Tell whether the gateway works',
      responses: { 200: { description: 'The gateway answers.', content: json(enveloped(health)) }, ...failuresOf(anyone) }
    }
  },
  '/v1/metadata': {
    get: {
      operationId: 'readMetadata',
      ...open,
      summary: 'Tell what a client can do, in FHIR',
      responses: {
        200: { description: 'In the envelope, or bare for a client that would rather have FHIR.', content: { ...json(enveloped(capabilities)), 'application/fhir+json': { schema: capabilities } } },
        ...failuresOf([...anyone, 'NOT_ACCEPTABLE'])
      }
    }
  },
  '/openapi.json': {
    get: {
      operationId: 'readOpenApi',
      ...open,
      summary: 'Get this document',
      responses: { 200: { description: 'The OpenAPI document.', content: json(openApi) }, ...failuresOf(anyone) }
    }
  }
}
