import {
  publicFailures,
  enveloped,
  commonFailures,
  failuresOf,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { healthStates } from '../../envelope/health-states.js'
import { modes } from '../../config/mode.js'

/** The tag of the operations that concern the gateway itself. */
export const serviceTag = { name: 'service', description: 'Health, capabilities and usage.' }

const open = { tags: [serviceTag.name], security: [] }
const json = (schema: JsonSchema): JsonSchema => ({ 'application/json': { schema } })

const check: JsonSchema = {
  type: 'object',
  properties: { status: { type: 'string', enum: healthStates } },
  required: ['status']
}

const healthStatus: JsonSchema = {
  type: 'string',
  enum: healthStates,
  description: 'degraded means that some requests will fail or use outdated data.'
}

const health: JsonSchema = {
  type: 'object',
  properties: {
    status: healthStatus,
    version: { type: 'string' },
    uptimeSeconds: { type: 'integer', minimum: 0 },
    checks: { type: 'object', description: "The gateway's dependencies, by name.", additionalProperties: check }
  },
  required: ['status', 'version', 'uptimeSeconds', 'checks']
}

const ready: JsonSchema = {
  type: 'object',
  properties: { status: { type: 'string', const: 'ready' } },
  required: ['status']
}

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
    limit: { type: ['integer', 'null'], description: 'The monthly quota; null means unlimited.' },
    used: { type: 'integer', minimum: 0 },
    remaining: { type: ['integer', 'null'], minimum: 0 },
    overage: {
      type: 'integer',
      minimum: 0,
      description:
        'Live requests beyond the quota of the current plan. The bill counts each request by the plan that was in force when it came in; the dashboard shows what it costs.'
    },
    resetsAt: { type: 'string', format: 'date-time', description: 'When the next month begins.' }
  },
  required: ['month', 'mode', 'plan', 'limit', 'used', 'remaining', 'overage', 'resetsAt']
}

/** The paths besides the resources. */
export const servicePaths: Readonly<Record<string, JsonSchema>> = {
  '/health': {
    get: {
      operationId: 'readHealth',
      ...open,
      summary: 'Check whether the gateway works',
      responses: {
        200: { description: 'The state of the gateway.', content: json(enveloped(health, { status: healthStatus })) },
        ...failuresOf(publicFailures)
      }
    }
  },
  '/health/ready': {
    get: {
      operationId: 'readReadiness',
      ...open,
      summary: 'Check whether this process should receive requests',
      description: 'For load balancers.',
      responses: {
        200: { description: 'The process is ready.', content: json(enveloped(ready)) },
        ...failuresOf([...publicFailures, 'BACKEND_UNAVAILABLE'])
      }
    }
  },
  '/v1/metadata': {
    get: {
      operationId: 'readMetadata',
      ...open,
      summary: 'Read the FHIR CapabilityStatement',
      responses: {
        200: {
          description:
            'The CapabilityStatement, in the envelope, or without it if the client prefers FHIR by `Accept` or `_format`.',
          content: { ...json(enveloped(capabilities)), 'application/fhir+json': { schema: capabilities } }
        },
        ...failuresOf([...publicFailures, 'NOT_ACCEPTABLE'])
      }
    }
  },
  '/v1/usage': {
    get: {
      operationId: 'readUsage',
      tags: [serviceTag.name],
      summary: 'Read the usage of the current month',
      description:
        "The usage of the key's organization with all its keys of the same mode. When the quota is used up and there is no overage, this request still works, as do requests that show or cancel bulk jobs. They do not count then.",
      responses: {
        200: { description: 'The usage so far.', content: json(enveloped(usage)) },
        ...failuresOf(commonFailures)
      }
    }
  },
  '/openapi.json': {
    get: {
      operationId: 'readOpenApi',
      ...open,
      summary: 'Get this document',
      responses: {
        200: { description: 'The OpenAPI document.', content: json(openApi) },
        ...failuresOf(publicFailures)
      }
    }
  }
}
