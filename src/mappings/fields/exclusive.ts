import type { Schema } from '../core/schema.js'

/**
 * What an object's JSON Schema says besides its properties so that at most one of these fields is sent: a choice
 * element inside a structure.
 */
export function atMostOne (...names: readonly string[]): Schema {
  const nothing: Schema = { not: {}, 'x-expects': `at most one of ${names.join(', ')}` }
  const others = (name: string) =>
    Object.fromEntries(names.filter(other => other !== name).map(other => [other, nothing]))
  return { dependentSchemas: Object.fromEntries(names.map(name => [name, { properties: others(name) }])) }
}

/** The same for a choice element that R4 requires. */
export function exactlyOne (...names: readonly string[]): Schema {
  return { ...atMostOne(...names), anyOf: names.map(name => ({ required: [name] })) }
}
