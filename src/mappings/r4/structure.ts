import { maxIssues, type Issue } from '../../envelope/failures.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import { ExactNumber } from '../../json/json.js'
import type { FhirElement, FhirResource } from '../fhir.js'
import { checkContained, getContainedTypes, orphaned, checkReference } from './references.js'
import { isResourceType, findElementDefinitions, type ElementDefinition } from './elements.js'
import { checkOwnMeta } from './meta.js'
import { isBlank, primitives } from './primitives.js'
import { createCodeCheck, createCodingCheck } from './required-codes.js'
import { isNothing, reportFault, type Walk } from './walk.js'

/** The errors of a resource, and the changes that it needs before a datastore stores all of it. */
interface Structure {
  readonly faults: readonly Issue[]
  /** Whether a list of `_x` is longer than that of `x`: {@link padLists} */
  readonly hasLongExtras: boolean
}

/**
 * Where a resource is not in the form of R4: elements that R4 does not have there or demands, JSON types, empty values,
 * the forms of primitives, codes of required bindings, types to which references lead, ext-1, ele-1 and what contained
 * resources have to be. Datastores drop or change much of it without a word: http://hl7.org/fhir/R4/json.html. An id of
 * a primitive that has no extension is valid, and refused all the same: HAPI drops it.
 */
export function checkStructure (resource: FhirResource): Structure {
  const walk: Walk = {
    type: resource.resourceType,
    steps: [],
    issues: [],
    contained: getContainedTypes(resource),
    hasLongExtras: false
  }
  checkResource(resource, walk)
  checkOwnMeta(resource, walk)
  return { faults: walk.issues, hasLongExtras: walk.hasLongExtras }
}

/** The faults of {@link checkStructure} alone. */
export function validateStructure (resource: FhirResource): readonly Issue[] {
  return checkStructure(resource).faults
}

/**
 * The faults of a resource that a change made of a stored one brings in. What was wrong with the stored one already,
 * and a contained resource to which the change leaves no reference, prevents no change of something else.
 */
export function filterNewFaults (
  faults: readonly Issue[],
  { resource, before }: { readonly resource: FhirResource; readonly before: FhirResource }
): readonly Issue[] {
  const known = new Set(validateStructure(before).map(({ diagnostics }) => diagnostics))
  const orphans = JSON.stringify(resource.contained) === JSON.stringify(before.contained)
  return faults.filter(({ diagnostics }) => !known.has(diagnostics) && !(orphans && diagnostics.endsWith(orphaned)))
}

/** Checks the value of a member; `walk` is its position, `holder` the object that has the member. */
type Check = (value: unknown, walk: Walk, holder: FhirElement) => void

/** The definition of a member of objects of a type. */
interface Slot {
  readonly name: string
  readonly element: string
  readonly isList: boolean
  readonly isChoice: boolean
  readonly isPrimitive: boolean
  /** The name without the underscore, of the member that holds id and extensions of a primitive. */
  readonly extends?: string
  /** One bit for each element that must be there. */
  readonly bit: number
  readonly check: Check
}

/** All that is known of a type, made when one is first met. */
interface Plan {
  readonly slots: ReadonlyMap<string, Slot>
  readonly mandatory: readonly string[]
  readonly isResource: boolean
  readonly isExtension: boolean
}

const plans = new Map<string, Plan>()

function getPlan (type: string): Plan {
  const known = plans.get(type)
  if (known !== undefined) return known
  const members = findElementDefinitions(type)!
  const mandatory = [
    ...new Set([...members.values()].filter(({ isMandatory }) => isMandatory).map(({ element }) => element))
  ]
  const slots = new Map<string, Slot>()
  for (const [name, member] of members) {
    const isPrimitive = primitives.has(member.type)
    const slot = {
      element: member.element,
      isList: member.isList,
      isChoice: member.element.endsWith('[x]'),
      bit: member.isMandatory ? 1 << mandatory.indexOf(member.element) : 0
    }
    slots.set(name, { ...slot, name, isPrimitive, check: createCheck(member) })
    if (isPrimitive && !member.isAttribute && member.type !== 'xhtml') {
      const check = member.type === 'id' ? checkExtraOfId : checkExtra
      slots.set(`_${name}`, { ...slot, name: `_${name}`, isPrimitive: false, extends: name, check })
    }
  }
  const plan = { slots, mandatory, isResource: isResourceType(type), isExtension: type === 'Extension' }
  plans.set(type, plan)
  return plan
}

function createCheck ({ type, codes, targets }: ElementDefinition): Check {
  if (primitives.has(type)) return checkPrimitive(type, codes === undefined ? undefined : createCodeCheck(codes))
  if (type === 'Resource') return checkInnerResource
  const checkBinding = codes === undefined ? undefined : createCodingCheck(codes)
  const allowed = targets && new Set(targets)
  let plan: Plan | undefined
  return (value, walk) => {
    if (!isObject(value)) return reportFault(walk, 'expected an object')
    checkObject(value, plan ??= getPlan(type), walk)
    if (type === 'Reference') checkReference(value, allowed, walk)
    checkBinding?.(value, walk)
  }
}

function checkPrimitive (type: string, checkBinding: ((value: unknown, walk: Walk) => void) | undefined): Check {
  const { message, isValid } = primitives.get(type)!
  return (value, walk) => {
    if (isValid(value)) return checkBinding?.(value, walk)
    const isEmpty = typeof value === 'string' && isBlank(value)
    reportFault(walk, isEmpty ? 'must not be empty; leave it out where there is nothing to say' : `expected ${message}`)
  }
}

const isObject = (value: unknown): value is FhirElement =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

/** Checks the member `_x` of a primitive. */
const checkExtra: Check = (value, walk) => {
  if (!isObject(value)) return reportFault(walk, 'expected an object')
  const isAlone = value.id !== undefined && Object.keys(value).length === 1
  if (!isAlone) return checkObject(value, getPlan('Element'), walk)
  reportFault(
    walk,
    'a datastore drops the id of a value that has no extension; leave the id out, or add an extension',
    { code: 'not-supported', below: ['id'] }
  )
}

/** HAPI has no place for extensions of a value of the type id, such as the uid of a series. */
const checkExtraOfId: Check = (_, walk) =>
  reportFault(
    walk,
    'a datastore drops the extensions and the id of a value of the type id; leave them out',
    { code: 'not-supported' }
  )

const checkInnerResource: Check = (value, walk, holder) => {
  if (!isObject(value)) return reportFault(walk, 'expected an object')
  if (holder.fullUrl === undefined && Object.keys(value).every(name => name === 'resourceType')) {
    return reportFault(
      walk,
      'a datastore drops a resource without content that stands in another; send its content, or leave it out',
      { code: 'not-supported' }
    )
  }
  const isContained = walk.steps.at(-2) === 'contained'
  const { contained } = walk
  if (!isContained) walk.contained = getContainedTypes(value)
  checkResource(value, walk)
  walk.contained = contained
}

function checkResource (resource: FhirElement, walk: Walk): void {
  const { resourceType: type } = resource
  if (typeof type !== 'string' || !isResourceType(type)) {
    return reportFault(walk, 'expected an R4 resource with resourceType')
  }
  checkObject(resource, getPlan(type), walk)
  checkContained(resource, walk)
}

function checkObject (object: FhirElement, plan: Plan, walk: Walk): void {
  let seen = 0
  let hasContent = plan.isResource
  let choices: Map<string, string> | undefined
  for (const name in object) {
    if (walk.issues.length === maxIssues) return
    if (object[name] === undefined) continue
    const slot = plan.slots.get(name)
    if (slot === undefined) {
      if (plan.isResource && name === 'resourceType') continue
      reportFault(
        walk,
        `FHIR R4 has no such element here${formatSuggestion(name.replace(/^_/, ''), listElementNames(plan))}`,
        { below: [name] }
      )
      hasContent = true
      continue
    }
    walk.steps.push(name)
    checkMember(object, slot, walk)
    if (slot.isChoice) checkChoice(choices ??= new Map(), slot, walk)
    walk.steps.pop()
    seen |= slot.bit
    hasContent ||= name !== 'id'
  }
  if (seen !== (1 << plan.mandatory.length) - 1) reportMissing(plan, seen, walk)
  if (!hasContent) {
    reportFault(walk, 'must not be empty; leave it out where there is nothing to say (ele-1)', { code: 'invariant' })
  }
  if (plan.isExtension) checkExtension(object, choices, walk)
}

const listElementNames = ({ slots }: Plan): string[] => [...slots.keys()].filter(name => !name.startsWith('_'))

function checkChoice (choices: Map<string, string>, { element, extends: extended, name: own }: Slot, walk: Walk): void {
  const name = extended ?? own
  const other = choices.get(element) ?? name
  if (other !== name) reportFault(walk, `send either this or ${other}, not both`)
  choices.set(element, other)
}

function reportMissing ({ mandatory }: Plan, seen: number, walk: Walk): void {
  for (const [at, element] of mandatory.entries()) {
    if ((seen & 1 << at) === 0) reportFault(walk, 'is required', { code: 'required', below: [element.replace('[x]', '')] })
  }
}

/** ext-1: http://hl7.org/fhir/R4/extensibility.html#Extension */
function checkExtension (extension: FhirElement, choices: Map<string, string> | undefined, walk: Walk): void {
  const hasValue = choices !== undefined
  const hasExtensions = extension.extension !== undefined
  if (hasValue && hasExtensions) {
    reportFault(walk, 'an extension has either a value or extensions, not both (ext-1)', { code: 'invariant' })
  }
  if (!hasValue && !hasExtensions) reportFault(walk, 'an extension needs a value or extensions (ext-1)', { code: 'invariant' })
}

function checkMember (holder: FhirElement, slot: Slot, walk: Walk): void {
  const value = holder[slot.name]
  if (value === null) return reportFault(walk, 'null is no value in FHIR; leave it out where there is nothing to say')
  if (slot.isList !== Array.isArray(value)) {
    return reportFault(walk, slot.isList ? 'expected an array' : 'expected a single value, not an array')
  }
  if (slot.isList) return checkItems(holder, slot, walk)
  slot.check(value, walk, holder)
}

function checkItems (holder: FhirElement, slot: Slot, walk: Walk): void {
  const items = holder[slot.name] as readonly unknown[]
  if (items.length === 0) return reportFault(walk, 'must not be empty; leave it out where there is nothing to say')
  for (let at = 0; at < items.length; at++) {
    if (walk.issues.length === maxIssues) return
    walk.steps.push(at)
    if (items[at] !== null) slot.check(items[at], walk, holder)
    else if (!hasCounterpart(holder, slot, at)) {
      reportFault(walk, 'null is no item in FHIR; leave it out where there is nothing to say')
    }
    walk.steps.pop()
  }
  if (slot.extends !== undefined) walk.hasLongExtras ||= items.length > getLength(holder[slot.extends])
}

/** Whether null at a position is there for what the other of the two lists, `x` and `_x`, has at it. */
function hasCounterpart (holder: FhirElement, slot: Slot, at: number): boolean {
  // Where both are null, the list of values is at fault.
  if (slot.extends !== undefined) return at < getLength(holder[slot.extends])
  const extras = slot.isPrimitive ? holder[`_${slot.name}`] : undefined
  return Array.isArray(extras) && !isNothing(extras[at])
}

const getLength = (value: unknown): number => Array.isArray(value) ? value.length : 0

/**
 * A resource whose lists of primitives are as long as the lists of their extensions, with null in each place that has
 * no value: HAPI drops extensions beyond the end of the list of values. Returns a new object.
 */
export function padLists<T> (value: T): T {
  if (Array.isArray(value)) return value.map(padLists) as T
  if (!isObject(value)) return value
  const padded: Record<string, unknown> = {}
  for (const name in value) padded[name] = padLists((value as FhirElement)[name])
  for (const name of Object.keys(padded)) {
    const extras = padded[name]
    if (!name.startsWith('_') || !Array.isArray(extras)) continue
    const values = padded[name.slice(1)]
    const length = Math.max(extras.length, getLength(values))
    padded[name.slice(1)] = Array.from({ length }, (_, at) => (Array.isArray(values) ? values[at] : undefined) ?? null)
  }
  return padded as T
}
