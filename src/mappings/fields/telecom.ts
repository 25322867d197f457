import { textUpTo } from '../datatypes/primitives.js'
import { datatype, type Datatype } from '../core/datatype.js'
import type { Element, ElementOptions } from '../core/element.js'
import { withoutExtensions } from '../core/outdated.js'
import { inItemWithUse } from './list-items.js'

type Options = ElementOptions & { readonly max?: number }

/** The first telephone number in use among the ContactPoints at a path; the others remain unchanged. */
export const phone = <const O extends Options = object>(path: string, options?: O) =>
  inItemWithUse(path, 'phone', contactPointValue(token(options?.max), options))

/** The first e-mail address in use among the ContactPoints at a path; the others remain unchanged. */
export const email = <const O extends Options = object>(path: string, options?: O) =>
  inItemWithUse(path, 'email', contactPointValue(token(options?.max), options))

/** The same, where a text that is no e-mail address is refused. */
export const emailAddress = <const O extends Options = object>(path: string, options?: O) =>
  inItemWithUse(path, 'email', contactPointValue(address(options?.max), options))

/** One @ between two words; anything more exact refuses addresses that exist. */
const addressForm = '^[^\\s@\\u0000-\\u001F\\u007F]+@[^\\s@\\u0000-\\u001F\\u007F]+$'

const token = (max?: number): Datatype<string> => datatype({ ...textUpTo(max).codec, kind: 'token' })

function address (max?: number): Datatype<string> {
  const { codec } = token(max)
  const { format: _, ...schema } = codec.schema
  return datatype({
    ...codec,
    schema: {
      ...schema,
      pattern: addressForm,
      'x-expects': `an e-mail address${max === undefined ? '' : ` of at most ${max} characters`}`
    }
  })
}

/** Extensions that give a number in parts. */
const numberParts = ['area', 'country', 'extension', 'local'].map(
  part => `http://hl7.org/fhir/StructureDefinition/contactpoint-${part}`
)

/** The value of a ContactPoint, whose parts go with it. */
function contactPointValue<const O extends object> (
  type: Datatype<string>,
  options?: O
): Element<string, O & ElementOptions> {
  const value = type('value', options as O & ElementOptions)
  return {
    ...value,
    write (point, requested) {
      const after = value.write(point, requested)
      return after === point ? point : withoutExtensions(after, numberParts)
    }
  }
}
