import type { Elements } from './element.js'
import { isElement } from './path.js'
import type { Schema } from './schema.js'
import { canonicalJson } from './canonical-json.js'

/**
 * What identifies an item of a list, as texts: two items that have one in common are the same thing, and a change of it
 * keeps what the simple form does not show. The named fields identify it together, or else its required parts together,
 * or else each of its parts; a code from a small set, which many items share, identifies nothing.
 */
export function listItemIdentity (
  elements: Elements,
  named?: readonly string[]
): (value: unknown) => readonly string[] {
  const identifyingFields = Object.entries(elements).filter(([, { schema }]) => !isShared(schema))
  const full = named ?? identifyingFields.filter(([, { options }]) => options.required === true).map(([name]) => name)
  const names = full.length > 0 ? full : identifyingFields.map(([name]) => name)
  return value => {
    if (!isElement(value)) return []
    const parts = names.filter(name => value[name] !== undefined).map(name => `${name} ${canonicalJson(value[name])}`)
    return full.length > 0 && parts.length > 0 ? [`${named === undefined ? '' : declaredPrefix}${parts.join()}`] : parts
  }
}

const declaredPrefix = '= '

/**
 * Whether two items, by what identifies each, are certainly different things: both have what a declaration names as
 * their identity, and not alike.
 */
export function areDifferent (one: readonly string[], other: readonly string[]): boolean {
  const [first = '', second = ''] = [one[0], other[0]]
  return first.startsWith(declaredPrefix) && second.startsWith(declaredPrefix) && first !== second
}

/** Whether values come from a small set, so that different things have them in common. */
function isShared ({ type, enum: codes, anyOf }: Schema): boolean {
  return (
    type === 'boolean' ||
    codes !== undefined ||
    (anyOf !== undefined && anyOf.every(one => isShared(one.items ?? one)))
  )
}
