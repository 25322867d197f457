import { idPattern, typePattern } from '../../fhir/names.js'
import { idempotencyKey } from '../../idempotency/header.js'
import {
  listConflictingFilters, noParameter, singleValueKinds, valueForms, type Filter
} from '../../mappings/core/filter.js'
import { searchDate } from '../../mappings/core/formats.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { incompleteLists } from '../../mappings/relations.js'
import { referToParameter, referTo, type JsonSchema } from '../../envelope/openapi-responses.js'

const { canonical, number, quantity } = valueForms
const entityTags = { type: 'string', pattern: `^(?:\\*|(?:W/)?"${idPattern}")$` }

/** Several values of one parameter are joined by commas. */
const joined = { style: 'form', explode: false } as const

const buildListSchema = (items: JsonSchema): JsonSchema => ({ type: 'array', items, minItems: 1 })
/** Several values of one parameter, each sent with its name; without any the parameter is not there. */
const buildRepeatedSchema = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

const path = `${typePattern}:[A-Za-z][A-Za-z-]*(?::${typePattern})?`

/** The schemas of the parameters of searches. */
export const filterSchemas: Readonly<Record<string, JsonSchema>> = {
  FilterText: { type: 'string', pattern: '\\S', maxLength: 2000 },
  FilterCodes: buildListSchema({ type: 'string', pattern: '^(?:\\\\,|[^,])*[^,\\s](?:\\\\,|[^,])*$' }),
  FilterMoment: { type: 'string', pattern: searchDate.pattern },
  FilterIds: buildListSchema({ type: 'string', pattern: `^${idPattern}$` }),
  FilterQuantities: buildListSchema({ type: 'string', pattern: `^${quantity}$` })
}

/** Parameters of every resource. */
const common: Readonly<Record<string, JsonSchema>> = {
  RecordId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the record.',
    schema: { type: 'string', pattern: `^${idPattern}$` }
  },
  IdempotencyKey: {
    name: idempotencyKey.header,
    in: 'header',
    description: `A new key for each request, such as a UUID. If the same request is sent again with the same key within ${idempotencyKey.lifetimeHours} hours, it does nothing and gets the first response, marked \`${idempotencyKey.replayedHeader}: true\`. A different request with the same key gets 422, and a request that arrives while the first one is still being processed gets 409.`,
    schema: { type: 'string', pattern: idempotencyKey.form }
  },
  Includes: {
    name: '_include',
    in: 'query',
    description: 'References of this record to follow, as in FHIR: `Type:parameter`. The response is a Bundle.',
    schema: buildRepeatedSchema({ type: 'string', pattern: `^${path}$` })
  },
  Revincludes: {
    name: '_revinclude',
    in: 'query',
    description: 'Records that refer to this one, as in FHIR: `Type:parameter`. The response is a Bundle.',
    schema: buildRepeatedSchema({ type: 'string', pattern: `^${path}$` })
  },
  Count: {
    name: 'count',
    in: 'query',
    description: 'Maximum number of records on a page. Above 100 it is 100, and `meta.warnings` says so.',
    schema: { type: 'integer', minimum: 1, default: 20 }
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    description: 'The cursor from the previous page. Keep the other parameters the same.',
    schema: { type: 'string', minLength: 1 }
  },
  UpdatedSince: {
    name: 'updatedSince',
    in: 'query',
    description: 'Records stored at this time or later.',
    schema: referTo('FilterMoment')
  },
  Ids: { name: 'id', in: 'query', description: 'Records with these ids.', ...joined, schema: referTo('FilterIds') },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The ETag of the expected version, such as `W/"1"`. If the record has a different version, nothing changes and the response is 412.',
    schema: entityTags
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The ETag of the version that you have, such as `W/"1"`. If the record still has this version, the response is 304 without a body. A value that is no ETag is that of no version.',
    schema: { type: 'string' }
  }
}

/**
 * The parameters to which operations refer: those of every resource, and by its name the filter that most resources
 * have alike.
 */
export function buildSharedParameters (mappings: readonly Mapping[]): Record<string, JsonSchema> {
  const uses = new Map<string, number>()
  for (const text of mappings.flatMap(listFilterParameters).map(filter => JSON.stringify(filter))) {
    uses.set(text, (uses.get(text) ?? 0) + 1)
  }
  const often = [...uses]
    .filter(([, count]) => count > 1)
    .sort(([, a], [, b]) => a - b)
    .map(([text]) => JSON.parse(text) as JsonSchema)
  return { ...common, ...Object.fromEntries(often.map(filter => [toComponentName(filter), filter])) }
}

/** The parameters of a search: the resource's filters, and those that every search has. */
export function buildSearchParameters (mapping: Mapping, shared: Readonly<Record<string, JsonSchema>>): JsonSchema[] {
  const filters = listFilterParameters(mapping).map(filter =>
    JSON.stringify(shared[toComponentName(filter)]) === JSON.stringify(filter)
      ? referToParameter(toComponentName(filter))
      : filter
  )
  return [...filters, buildSortParameter(mapping), ...['UpdatedSince', 'Ids', 'Count', 'Cursor'].map(referToParameter)]
}

const toComponentName = ({ name }: JsonSchema): string => `filter.${String(name).replace(':', '.')}`

const listFilterParameters = (mapping: Mapping): JsonSchema[] =>
  Object.entries(mapping.filters).flatMap(([name, filter]) => buildFilterParameters(mapping, name, filter))

function buildFilterParameters (mapping: Mapping, name: string, filter: Filter): JsonSchema[] {
  const codes = listKnownCodes(mapping, name)
  const rivals = listConflictingFilters(mapping.filters, name)
  const one = {
    name,
    in: 'query',
    description: [
      filter.byWords ? 'Starts of names, in any order, case-insensitive.' : meanings[filter.kind],
      ...(filter.paths ? [checkedByGateway] : []),
      ...(codes.length > 0 ? [`Known codes: ${codes.join(', ')}.`] : []),
      ...(rivals.length > 0 ? [`Cannot be combined with ${rivals.join(' or ')}.`] : [])
    ].join(' '),
    ...(!singleValueKinds.has(filter.kind) && filter.kind !== 'boolean' && joined),
    schema: buildFilterSchema(filter)
  }
  if (!filter.hasText) return [one]
  return [
    one,
    {
      name: `${name}:text`,
      in: 'query',
      description: 'Start of its text or of a display, case-insensitive.',
      schema: referTo('FilterText')
    }
  ]
}

/** The groups whose records are included with a record that is read, each in a list under its name. */
export function buildIncludeParameter (names: readonly string[]): JsonSchema {
  return {
    name: 'include',
    in: 'query',
    description: `Resources that refer to this one, each added to the record as a list of this name. \`${incompleteLists}\` names the lists that are not complete. Cannot be combined with _include and _revinclude.`,
    ...joined,
    schema: buildListSchema({ type: 'string', enum: names })
  }
}

const meanings: Readonly<Record<Filter['kind'], string>> = {
  string: 'Start of the text, case-insensitive.',
  token: 'Codes, or `system|code`. Write a comma within a code as `\\,`.',
  boolean: 'true or false.',
  date: 'A date, or a time with a time zone.',
  from: 'Earliest date or time, inclusive.',
  until: 'Latest date or time, inclusive; a date covers the whole day.',
  reference: 'Ids of the first type, or `Type/id`.',
  quantity: 'Numbers, each with an optional prefix eq, ne, gt, lt, ge or le, and an optional unit as `|system|code`.',
  number: 'Numbers, each with an optional prefix eq, ne, gt, lt, ge or le.',
  uri: 'The complete URI.'
}

function buildFilterSchema ({ kind, types = [], canonicalOf, codes, aliases = {}, paths }: Filter): JsonSchema {
  if (codes !== undefined) {
    const forms = [...codes, ...Object.keys(aliases), ...paths === undefined ? [ofSystem] : []]
    return buildListSchema({ type: 'string', pattern: `^(?:${forms.join('|')})$` })
  }
  if (kind === 'reference') return buildReferencesSchema(types, canonicalOf !== undefined)
  return schemas[kind]
}

const schemas: Readonly<Record<Exclude<Filter['kind'], 'reference'>, JsonSchema>> = {
  string: referTo('FilterText'),
  uri: referTo('FilterText'),
  token: referTo('FilterCodes'),
  boolean: { type: 'boolean' },
  date: referTo('FilterMoment'),
  from: referTo('FilterMoment'),
  until: referTo('FilterMoment'),
  quantity: referTo('FilterQuantities'),
  number: buildListSchema({ type: 'string', pattern: `^${number}$` })
}

/** A code with its code system. */
const ofSystem = '(?:\\\\,|[^,|])*\\|(?:\\\\,|[^,])*'

function buildReferencesSchema (types: readonly string[], orUrl: boolean): JsonSchema {
  const prefix = types.includes('any') ? typePattern : types.join('|')
  const url = orUrl ? `|${canonical}` : ''
  return buildListSchema({ type: 'string', pattern: `^(?:(?:(?:${prefix})/)?${idPattern}${url})$` })
}

/** Codes that the field of a filter may have, when they are few enough to be read. */
function listKnownCodes ({ fields }: Mapping, name: string): readonly string[] {
  const { schema } = fields[name] ?? {}
  const aliases = Object.keys(schema?.['x-aliases'] ?? {})
  const codes = schema?.enum?.filter(code => !aliases.includes(code)) ?? aliases
  return codes.length <= maxCodes ? codes : []
}

const checkedByGateway =
  'FHIR has no such search, so the gateway looks through the records itself; where more than 10,000 meet the other filters, it asks for another one with 400.'

const maxCodes = 16

function buildSortParameter ({ filters }: Mapping): JsonSchema {
  const sorting = Object.keys(filters).filter(name => filters[name]!.param !== noParameter)
  const names = [...new Set([...sorting, 'date', 'id', 'updatedSince'])]
  return {
    name: 'sort',
    in: 'query',
    description:
      'Filters to sort by, most significant first, or `date` for the time of the record; prefix one with - for descending order.',
    ...joined,
    schema: buildListSchema({ type: 'string', enum: names.flatMap(name => [name, `-${name}`]) })
  }
}
