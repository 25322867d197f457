import { commonFailures, enveloped, failuresOf, type JsonSchema } from '../../envelope/openapi-responses.js'
import { typeFilterPattern } from '../../events/event.js'
import { serviceTag } from './service-paths.js'

const query = (name: string, description: string, schema: JsonSchema): JsonSchema =>
  ({ name, in: 'query', description, schema })

const event: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The same in each repetition: ignore an event whose id you know.' },
    type: { type: 'string', examples: ['patients.created', 'observations.updated', 'fhir.Basic.deleted'] },
    createdAt: { type: 'string', format: 'date-time' },
    data: {
      type: 'object',
      properties: {
        resourceType: { type: 'string', description: 'The FHIR type.' },
        id: { type: 'string', description: 'The id of the record.' },
        versionId: { type: 'string', description: 'Absent where the datastore reports none.' }
      },
      required: ['resourceType', 'id']
    },
    requestId: { type: 'string', description: 'The request that made the change.' }
  },
  required: ['id', 'type', 'createdAt', 'data', 'requestId']
}

const page: JsonSchema = {
  type: 'object',
  properties: {
    data: { type: 'array', items: event },
    cursor: { type: 'string', description: 'Where to continue, also if there are no events yet.' },
    hasMore: { type: 'boolean' }
  },
  required: ['data', 'cursor', 'hasMore']
}

/** The path of events. */
export const eventPaths: Readonly<Record<string, JsonSchema>> = {
  '/v1/events': {
    get: {
      operationId: 'listEvents',
      tags: [serviceTag.name],
      summary: 'List the changes of records',
      description:
        'Each change of a record that a client was told of, by whatever request, is an event; oldest first. An event names the record and has nothing of its content. The list has the events of the organization and mode of the key.',
      parameters: [
        query('count', 'Maximum events.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
        query('cursor', 'The cursor of an earlier response.', { type: 'string' }),
        {
          ...query('types', 'Only these types.', {
            type: 'array',
            items: { type: 'string', pattern: typeFilterPattern },
            examples: [['patients.*', 'observations.created']]
          }),
          style: 'form',
          explode: false
        },
        query('since', 'Only events since this time.', { type: 'string', format: 'date-time' }),
        query('wait', 'If there are no events, wait for one, at most so many seconds.', {
          type: 'integer', minimum: 0, maximum: 30, default: 0
        })
      ],
      responses: {
        200: { description: 'The events.', content: { 'application/json': { schema: enveloped(page) } } },
        ...failuresOf([...commonFailures, 'BAD_REQUEST', 'INVALID_CURSOR', 'BACKEND_UNAVAILABLE'])
      }
    }
  }
}
