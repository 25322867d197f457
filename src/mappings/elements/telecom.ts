import { text } from '../datatypes/primitives.js'
import { datatype } from '../kit/datatype.js'
import type { ElementOptions } from '../kit/element.js'
import { inItem } from './in-item.js'

/** The first telephone number among the ContactPoints at a path; the others are kept. */
export const phone = <const O extends ElementOptions = object>(path: string, options?: O) => contactPoint('phone', path, options)

/** The first e-mail address among the ContactPoints at a path; the others are kept. */
export const email = <const O extends ElementOptions = object>(path: string, options?: O) => contactPoint('email', path, options)

const token = datatype({ ...text.codec, kind: 'token' as const })

function contactPoint<const O extends ElementOptions = object> (system: 'phone' | 'email', path: string, options?: O) {
  return inItem(path, { find: item => item.system === system && typeof item.value === 'string', create: { system } }, token('value', options))
}
