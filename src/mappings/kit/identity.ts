import type { Elements } from './element.js'
import { isElement } from './path.js'
import type { Schema } from './schema.js'
import { textOf } from './text-of.js'

/**
 * What tells an item of a list from the others, as texts: two items that have one in common are the same thing, of which
 * a change leaves alone what the simple form does not show. A thing is what the fields named say together, or what its
 * required parts say together, or else anything that it says; a code of a set, which many items share, tells nothing.
 */
export function identityOf (elements: Elements, named?: readonly string[]): (value: unknown) => readonly string[] {
  const telling = Object.entries(elements).filter(([, { schema }]) => !isShared(schema))
  const whole = named ?? telling.filter(([, { options }]) => options.required === true).map(([name]) => name)
  const names = whole.length > 0 ? whole : telling.map(([name]) => name)
  return value => {
    if (!isElement(value)) return []
    const parts = names.filter(name => value[name] !== undefined).map(name => `${name} ${textOf(value[name])}`)
    return whole.length > 0 && parts.length > 0 ? [parts.join()] : parts
  }
}

/** Whether values come from a small set, so that different things have them in common. */
function isShared ({ type, enum: codes, anyOf }: Schema): boolean {
  return type === 'boolean' || codes !== undefined || (anyOf !== undefined && anyOf.every(one => isShared(one.items ?? one)))
}
