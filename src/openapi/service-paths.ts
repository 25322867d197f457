import { anyone, enveloped, everywhere, failuresOf, type JsonSchema } from '../envelope/documented-answers.js'
import { modes } from '../mode.js'

/** The tag of what concerns the gateway itself. */
export const serviceTag = { name: 'service', description: 'How the gateway is, what it offers, and what of the month is used.' }

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

const ready: JsonSchema = { type: 'object', properties: { status: { type: 'string', const: 'ready' } }, required: ['status'] }

const capabilities: JsonSchema = {
  type: 'object',
  description: 'A CapabilityStatement: http://hl7.org/fhir/R4/capabilitystatement.html',
  properties: { resourceType: { type: 'string', const: 'CapabilityStatement' } },
  required: ['resourceType']
}

const openApi: JsonSchema = { type: 'object', properties: { openapi: { type: 'string' } }, required: ['openapi'] }

const usage: JsonSchema = {
  type: 'object',
  properties: {
    month: { type: 'string', description: 'In UTC.', examples: ['2030-01'] },
    mode: { type: 'string', enum: modes },
    plan: { type: 'string' },
    limit: { type: ['integer', 'null'], description: 'The allowance of the month; null is unlimited.' },
    used: { type: 'integer', minimum: 0 },
    remaining: { type: ['integer', 'null'], minimum: 0 },
    overage: { type: 'integer', minimum: 0, description: 'Live requests past the allowance.' },
    overageAmount: { type: 'string', description: 'What they cost in USD, an exact decimal.', examples: ['0.003'] },
    resetsAt: { type: 'string', format: 'date-time', description: 'When the next month begins.' }
  },
  required: ['month', 'mode', 'plan', 'limit', 'used', 'remaining', 'overage', 'overageAmount', 'resetsAt']
}

/** The paths beside the resources. */
export const servicePaths: Readonly<Record<string, JsonSchema>> = {
  '/health': {
    get: {
      operationId: 'readHealth',
      ...open,
      summary: 'Tell whether the gateway works',
      responses: { 200: { description: 'The gateway answers.', content: json(enveloped(health)) }, ...failuresOf(anyone) }
    }
  },
  '/health/ready': {
    get: {
      operationId: 'readReadiness',
      ...open,
      summary: 'Tell whether requests should be sent to this process',
      description: 'For load balancers.',
      responses: { 200: { description: 'They should.', content: json(enveloped(ready)) }, ...failuresOf([...anyone, 'BACKEND_UNAVAILABLE']) }
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
  '/v1/usage': {
    get: {
      operationId: 'readUsage',
      tags: [serviceTag.name],
      summary: 'Tell what of the month is used',
      description: 'By the organization of the key, with all its keys of the same mode. Once the month is used up and nothing is served past it, this is still answered, as is what shows or ends a bulk job; none of that is counted then.',
      responses: { 200: { description: 'The month so far.', content: json(enveloped(usage)) }, ...failuresOf(everywhere) }
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
