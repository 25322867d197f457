import { fieldIssue, enoughIssues, type Issue } from '../../envelope/failures.js'
import { suggestion } from '../../envelope/nearest.js'
import { printable } from '../../envelope/query.js'
import { ExactNumber } from '../../json.js'
import type { FhirElement, FhirResource } from '../fhir.js'
import { isResourceType, membersOf, type Member } from './elements.js'
import { primitives } from './primitives.js'

/** Where the walk into a resource is. A path is put together of it only where something is wrong. */
interface Walk {
  /** The resource's type, then elements by their names and places in lists. */
  readonly steps: Array<string | number>
  readonly forms: boolean
  readonly issues: Issue[]
}

/**
 * Where a resource has an element that R4 does not have there, or one in another JSON type than R4 has it. HAPI leaves such
 * content out, or takes it for something else, without a word: http://hl7.org/fhir/R4/json.html. What is missing or empty is no
 * fault here.
 * @param forms whether days, times and whole numbers must have the forms of R4, too
 */
export function structureFaults (resource: FhirResource, { forms = false } = {}): readonly Issue[] {
  const walk: Walk = { steps: [resource.resourceType], forms, issues: [] }
  checkResource(resource, walk)
  return walk.issues
}

function checkResource (resource: FhirElement, walk: Walk): void {
  const { resourceType: type } = resource
  if (typeof type !== 'string' || !isResourceType(type)) return fault(walk, 'expected an R4 resource with resourceType')
  checkObject(resource, type, walk)
}

function checkObject (object: FhirElement, type: string, walk: Walk): void {
  const members = membersOf(type)!
  let choices: Map<string, string> | undefined
  for (const name in object) {
    if (walk.issues.length === enoughIssues) return
    if (name === 'resourceType' && isResourceType(type)) continue
    walk.steps.push(name)
    const plain = name.startsWith('_') ? name.slice(1) : name
    const member = members.get(plain)
    if (member === undefined || (plain !== name && !primitives.has(member.type))) {
      fault(walk, `FHIR R4 has no such element here${suggestion(plain, [...members.keys()])}`)
    } else {
      checkMember(object[name], plain === name ? member : { ...member, type: 'Element' }, walk)
      if (member.element.endsWith('[x]')) {
        const other = (choices ??= new Map()).get(member.element) ?? plain
        if (other !== plain) fault(walk, `send either this or ${other}, not both`)
        choices.set(member.element, other)
      }
    }
    walk.steps.pop()
  }
}

function checkMember (value: unknown, { type, isList }: Member, walk: Walk): void {
  if (value === null) return
  if (isList !== Array.isArray(value)) return fault(walk, isList ? 'expected an array' : 'expected a single value, not an array')
  if (!isList) return checkValue(value, type, walk)
  const items = value as readonly unknown[]
  for (let at = 0; at < items.length; at++) {
    walk.steps.push(at)
    // Where an item has extensions alone, null keeps its place.
    if (items[at] !== null) checkValue(items[at], type, walk)
    walk.steps.pop()
  }
}

function checkValue (value: unknown, type: string, walk: Walk): void {
  const primitive = primitives.get(type)
  if (primitive !== undefined) {
    const holds = primitive.isKind(value) && (!walk.forms || (primitive.hasForm?.(value) ?? true))
    return holds ? undefined : fault(walk, `expected ${primitive.says}`)
  }
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof ExactNumber) return fault(walk, 'expected an object')
  if (type === 'Resource') return checkResource(value as FhirElement, walk)
  checkObject(value as FhirElement, type, walk)
}

function fault ({ steps: [type, ...steps], issues }: Walk, says: string): void {
  const path = steps.map(step => typeof step === 'number' ? `[${step}]` : `.${printable(step)}`).join('')
  if (issues.length < enoughIssues) issues.push(fieldIssue(`${type}${path}`, says, 'structure'))
}
