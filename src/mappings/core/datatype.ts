import type { Codec } from './codec.js'
import type { Element, ElementOptions } from './element.js'
import { noParameter } from './filter.js'
import { first, list, one, type ListOptions } from './cardinality.js'

/**
 * A datatype as mappings write it: `concept('code', { required: true })` for the one value at a path, `concept.list(…)`
 * for a list, `concept.first(…)` where only the first is shown. A field has one shape in responses, for all stored
 * values.
 */
export interface Datatype<T> {
  <const O extends ElementOptions = object> (path: string, options?: O): Element<T, O>
  first<const O extends ElementOptions = object> (path: string, options?: O): Element<T, O>
  list<const O extends ListOptions = object> (path: string, options?: O): Element<T[], O>
  /** For datatypes made of this one. */
  readonly codec: Codec<T>
}

/** Makes a datatype, which can be declared at any path, from its codec. */
export function datatype<T> (codec: Codec<T>): Datatype<T> {
  const none = {} as never
  const selectCodec = ({ filter = noParameter, searched = filter !== noParameter }: ElementOptions): Codec<T> =>
    searched ? codec.searched ?? codec : codec
  return Object.assign(
    <const O extends ElementOptions>(path: string, options: O = none) => one(selectCodec(options), path, options),
    {
      first: <const O extends ElementOptions>(path: string, options: O = none) =>
        first(selectCodec(options), path, options),
      list: <const O extends ListOptions>(path: string, options: O = none) => list(selectCodec(options), path, options),
      codec
    }
  )
}
