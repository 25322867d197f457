import { datatype, type Datatype } from '../core/datatype.js'
import type { Element } from '../core/element.js'
import type { ListOptions } from '../core/cardinality.js'

/**
 * A list of backbone elements that hold themselves: their definition stands at the root of the field's schema, where
 * `$ref` looks for it.
 */
export function recursiveList<T, const O extends ListOptions = object> (
  { codec }: Datatype<T>,
  path: string,
  options: O = {} as O
): Element<T[], O> {
  const { $defs, ...schema } = codec.schema
  const element = datatype<T>({ ...codec, schema }).list(path, options)
  return { ...element, schema: { ...element.schema, $defs } }
}
