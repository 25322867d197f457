import { textUpTo } from '../datatypes/primitives.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement, withMember } from '../core/path.js'

/**
 * The words of a CodeableConcept alone. Changed, the concept is replaced whole: its codes would mean something else.
 */
export function conceptText (max: number): Datatype<string> {
  const { codec } = textUpTo(max)
  return datatype<string>({
    ...codec,
    read: stored => isElement(stored) ? codec.read(stored.text) : undefined,
    write: text => ({ text }),
    without (before) {
      const rest = isElement(before) ? withMember(withMember(before, 'text', undefined), '_text', undefined) : {}
      return Object.keys(rest).length === 0 ? undefined : rest
    }
  })
}
