// What one mapping of a full record costs, each way: median microseconds of many batches.
// Usage: npm run build && node bench/mappings.js [patients observations …]
import { mappings } from '../dist/mappings/registry.js'
import { describeMachine, median } from './figures.js'

const batches = 60
const callsPerBatch = 100

const texts = {
  date: '1990-03-14',
  'fhir-dateTime': '2026-03-14T09:30:00Z',
  'fhir-instant': '2026-03-14T09:30:00Z',
  'fhir-time': '09:30:00',
  uri: 'http://example.org/a',
  'uri-reference': 'http://example.org/a',
  base64: 'aGVsbG8=',
  npi: '1234567893',
  words: 'two words',
  text: 'some text'
}

const chosen = process.argv.length > 2 ? mappings.filter(({ path }) => process.argv.includes(path)) : mappings
const rows = chosen.map(mapping => ({ path: mapping.path, ...measureMapping(mapping) }))

console.log(
  `${describeMachine()}; medians of ${batches} batches of ${callsPerBatch} calls, µs\n`
)
console.log(
  '| resource | fields | bytes of FHIR | toSimple | toFhir | patch of one field | patch of nothing |\n' +
  '|---|---|---|---|---|---|---|'
)
for (const { path, fields, bytes, toSimple, toFhir, patch, same } of rows) {
  console.log(`| ${[path, fields, bytes, ...[toSimple, toFhir, patch, same].map(µs => µs.toFixed(1))].join(' | ')} |`)
}
const formatMedian = name => median(rows.map(row => row[name])).toFixed(1)
console.log(`| median | | | ${['toSimple', 'toFhir', 'patch', 'same'].map(formatMedian).join(' | ')} |`)

function measureMapping (mapping) {
  const simple = buildFullRecord(mapping)
  const resource = JSON.parse(JSON.stringify(mapping.toFhir(simple)))
  const shown = mapping.toSimple(resource)
  const names = Object.keys(simple)
  let turn = 0
  const change = () => {
    const name = names[turn++ % names.length]
    return { [name]: turn % 2 === 0 ? simple[name] : null }
  }
  return {
    fields: names.length,
    bytes: JSON.stringify(resource).length,
    toSimple: time(() => mapping.toSimple(resource)),
    toFhir: time(() => mapping.toFhir(simple)),
    patch: time(() => mapping.patch(resource, change())),
    same: time(() => mapping.patch(resource, shown))
  }
}

function time (call) {
  const batch = () => {
    const start = process.hrtime.bigint()
    for (let i = 0; i < callsPerBatch; i++) call()
    return Number(process.hrtime.bigint() - start) / 1000 / callsPerBatch
  }
  for (let i = 0; i < batches / 3; i++) batch()
  return median(Array.from({ length: batches }, batch))
}

/** A value of every field that can be combined with the others. */
function buildFullRecord ({ fields }) {
  const choices = new Set()
  return Object.fromEntries(Object.entries(fields).filter(([, { options }]) => {
    if (options.readOnly || options.shortcutOf || choices.has(options.choice)) return false
    if (options.choice) choices.add(options.choice)
    return true
  }).map(([name, { schema }]) => [name, buildValue(schema, schema.$defs ?? {}, 0)]))
}

function buildValue (schema, defs, depth) {
  if (schema.$ref !== undefined) return buildValue(defs[schema.$ref.split('/').at(-1)], defs, depth + 1)
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema['x-references'] !== undefined) return '123'
  if (schema.anyOf !== undefined && schema.type === undefined) {
    return buildValue(schema.anyOf[schema.anyOf.length > 1 && schema.anyOf[1].properties ? 1 : 0], defs, depth)
  }
  if (schema.type === 'object') return buildObject(schema, defs, depth)
  if (schema.type === 'array') return [buildValue(schema.items, defs, depth), buildValue(schema.items, defs, depth)]
  return { string: texts[schema.format] ?? 'text', boolean: true, integer: 7, number: 36.6 }[schema.type]
}

function buildObject ({ properties, dependentSchemas = {} }, defs, depth) {
  const members = Object.entries(properties).filter(
    ([, member]) => depth < 1 || !JSON.stringify(member).includes('$ref')
  )
  const alone = members.filter(
    ([name], i) => !members.slice(0, i).some(([earlier]) => dependentSchemas[earlier]?.properties?.[name]?.not)
  )
  return Object.fromEntries(alone.map(([name, member]) => [name, buildValue(member, defs, depth)]))
}
