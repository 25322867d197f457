/**
 * An element that R4 calls a modifier changes the meaning of the simple form: without it, the rest would mean something
 * else.
 */
import t from 'tap'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { isPrimitive, listParts, type Part } from './definitions.js'

/** A part and its type there, starting at the resource. */
interface Step { readonly part: Part, readonly type: string }

const maxDepth = 6

/** Types without modifiers, and `use`, since an old name or address is shown where there is no other. */
const closed = /^(?:Extension|Reference|Meta|Narrative|HumanName|Address|ContactPoint|Identifier|Resource)$/

function findModifiers (path: string, steps: readonly Step[] = []): Array<readonly Step[]> {
  return listParts(path).flatMap(part => part.types.flatMap(({ code: type }) => {
    const here = [...steps, { part, type }]
    if (part.modifier) return [here]
    const isOpen = !isPrimitive(type) && !closed.test(type) && here.length < maxDepth
    return isOpen && !steps.some(step => step.type === type) ? findModifiers(type, here) : []
  }))
}

const getMemberName = ({ part: { name }, type }: Step): string =>
  name.replace('[x]', type.charAt(0).toUpperCase() + type.slice(1))
const formatPath = (steps: readonly Step[]): string => steps.map(getMemberName).join('.')

/** A value that is shown in most places: a text, a number and a code. */
const neighbors: FhirElement = {
  description: 'words', text: 'words', value: 5, unit: 'min', system: 'http://unitsofmeasure.org', code: 'min'
}

/** Siblings of the modifier in the form that they have there. */
function buildNeighbors (steps: readonly Step[]): FhirElement {
  const holder = steps.at(-2)
  if (holder === undefined || isPrimitive(holder.type)) return {}
  return Object.fromEntries(listParts(holder.type).flatMap(({ name, many, types: [type] }) => {
    if (type?.code === 'CodeableConcept') return [[name, many ? [{ text: 'words' }] : { text: 'words' }]]
    return Object.hasOwn(neighbors, name) && isPrimitive(type?.code ?? '') && !many ? [[name, neighbors[name]]] : []
  }))
}

function buildResource ({ type }: Mapping, steps: readonly Step[], modifier?: unknown): FhirElement {
  const [last, ...before] = [...steps].reverse() as [Step, ...Step[]]
  const innermost = { ...buildNeighbors(steps), [getMemberName(last)]: modifier }
  if (modifier === undefined) delete innermost[getMemberName(last)]
  const content = before.reduce<FhirElement>(
    (inner, step) => ({ [getMemberName(step)]: step.part.many ? [inner] : inner }), innermost
  )
  return { resourceType: type, ...content }
}

/** The values that change the meaning: true, and each code there is. */
function listValues ({ part: { codings, many }, type }: Step): readonly unknown[] {
  const wrap = (value: unknown): unknown => many ? [value] : value
  if (type === 'boolean') return [wrap(true)]
  if (type === 'code') return codings.map(({ code }) => wrap(code))
  if (type === 'CodeableConcept') return codings.map(coding => wrap({ coding: [coding] }))
  return []
}

for (const mapping of mappings) {
  t.test(`a record of ${mapping.path} does not mean the opposite because a modifier is not shown`, async t => {
    for (const steps of findModifiers(mapping.type)) {
      const plain = mapping.toSimple(buildResource(mapping, steps))
      // A hidden part has no meaning for the client.
      if (deepEqual(plain, {})) continue
      for (const value of listValues(steps.at(-1)!)) {
        const shown = mapping.toSimple(buildResource(mapping, steps, value))
        t.notOk(deepEqual(shown, plain), `${formatPath(steps)} = ${JSON.stringify(value)}`)
      }
    }
  })
}
