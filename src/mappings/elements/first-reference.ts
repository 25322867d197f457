import { display, localReference, reference } from '../datatypes/reference.js'
import type { Element, ElementOptions } from '../kit/element.js'
import { isElement } from '../kit/path.js'
import { firstPlace, partOfItem, type Place } from './part-of-item.js'

/** The first Reference that leads to a record of the store; where none does, the first of any kind. */
const place: Place = items => {
  const found = items.findIndex(item => isElement(item) && localReference(item.reference) !== undefined)
  return found < 0 ? firstPlace(items) : found
}

/** The id of the first Reference of a list, whose display is a field beside it. */
export function firstReference<const O extends ElementOptions = object> (types: readonly string[], path: string, options: O = {} as O): Element<string, O> {
  return partOfItem(reference(types, { named: true }).codec, path, place, options)
}

/** The display of the Reference that {@link firstReference} shows. */
export function firstDisplay<const O extends ElementOptions = object> (max: number | undefined, path: string, options: O = {} as O): Element<string, O> {
  return { ...partOfItem(display(max).codec, path, place, options), path: `${path}.display` }
}
