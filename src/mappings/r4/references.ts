import table from './search-parameters.json' with { type: 'json' }

const definitions = table as unknown as Readonly<Record<string, Readonly<Record<string, readonly [kind: string, expression: string]>>>>

/**
 * The elements, as FHIRPath, that a search parameter of R4 follows from a type to other records; undefined when the type
 * has no such parameter, or one that follows no references.
 */
export function followedBy (type: string, parameter: string): string | undefined {
  const ofType = Object.hasOwn(definitions, type) ? definitions[type]! : {}
  const [kind, expression] = Object.hasOwn(ofType, parameter) ? ofType[parameter]! : []
  return kind === 'reference' ? expression : undefined
}

/** The names of a type's search parameters that follow references. */
export function referenceParameters (type: string): string[] {
  return Object.keys(Object.hasOwn(definitions, type) ? definitions[type]! : {}).filter(name => followedBy(type, name) !== undefined)
}
