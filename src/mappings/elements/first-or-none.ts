import type { Datatype } from '../kit/datatype.js'
import type { Element } from '../kit/element.js'

/** The first item of a list inside a structure, where a structure sent without the field means that there is none. */
export function firstOrNone<T> (datatype: Datatype<T>, path: string): Element<T> {
  const first = datatype.first(path)
  const all = datatype.list(path)
  return { ...first, write: (holder, value) => value === undefined ? all.write(holder, undefined as never) : first.write(holder, value) }
}
