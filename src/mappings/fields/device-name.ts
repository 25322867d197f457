import { text } from '../datatypes/primitives.js'
import type { FhirElement } from '../fhir.js'
import type { Element, ElementOptions } from '../core/element.js'
import { inMatchingItem } from './in-item.js'

const isNamed = (item: FhirElement): boolean => text.codec.read(item.name) !== undefined
const isForUsers = (item: FhirElement): boolean => item.type === 'user-friendly-name' && isNamed(item)

/** The name of a device that its users know, else the first of any kind; the others are kept. */
export function deviceName<const O extends ElementOptions = object> (options: O = {} as O): Element<string, O> {
  const name = text('name', options)
  const forUsers = inMatchingItem('deviceName', { find: isForUsers, create: { type: 'user-friendly-name' } }, name)
  const first = inMatchingItem('deviceName', { find: isNamed }, name)
  const chosen = (device: FhirElement): Element<string, O> =>
    forUsers.read(device) === undefined && first.read(device) !== undefined ? first : forUsers
  return {
    ...forUsers,
    read: device => chosen(device).read(device),
    write: (device, value) => chosen(device).write(device, value)
  }
}
