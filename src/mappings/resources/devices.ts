import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { dateTime, text, uri } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byText } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import type { FhirElement } from '../fhir.js'
import type { Element, ElementOptions } from '../core/element.js'
import { inMatchingItem } from '../fields/list-items.js'

const isNamed = (item: FhirElement): boolean => text.codec.read(item.name) !== undefined

const isForUsers = (item: FhirElement): boolean => item.type === 'user-friendly-name' && isNamed(item)

/** The name of a device that its users know, else the first of any kind; the others remain unchanged. */
function deviceName<const O extends ElementOptions = object> (options: O = {} as O): Element<string, O> {
  const name = text('name', options)
  const forUsers = inMatchingItem('deviceName', { find: isForUsers, create: { type: 'user-friendly-name' } }, name)
  const first = inMatchingItem('deviceName', { find: isNamed }, name)
  const selectField = (device: FhirElement): Element<string, O> =>
    forUsers.read(device) === undefined && first.read(device) !== undefined ? first : forUsers
  return {
    ...forUsers,
    read: device => selectField(device).read(device),
    write: (device, value) => selectField(device).write(device, value)
  }
}

/** http://hl7.org/fhir/R4/device.html */
export const devices = mapping('Device', {
  path: 'devices',
  operation: 'createDevice',
  about: 'An instrument, implant or other thing that is used in care.',
  fields: {
    identifiers: identifiers(),
    deviceName: deviceName({ required: true, filter: 'device-name', about: 'The name by which its users know it.' }),
    type: concept('type', { filter: 'type' }),
    status: code(['active', 'inactive', 'entered-in-error', 'unknown'])('status', {
      default: 'active',
      filter: 'status'
    }),
    patientId: reference('Patient')('patient', { filter: 'patient', about: 'Who wears or carries it.' }),
    manufacturer: text('manufacturer', { filter: 'manufacturer' }),
    modelNumber: text('modelNumber', { filter: 'model' }),
    serialNumber: text('serialNumber'),
    lotNumber: text('lotNumber'),
    manufactureDate: dateTime('manufactureDate'),
    expirationDate: dateTime('expirationDate', { notBefore: 'manufactureDate' }),
    udiCarrier: backbone({
      deviceIdentifier: text('deviceIdentifier'),
      carrierHRF: text('carrierHRF'),
      issuer: uri('issuer'),
      jurisdiction: uri('jurisdiction')
    }).list('udiCarrier', {
      about:
        'The Unique Device Identifier: its device identifier, its human-readable form, the issuer and the jurisdiction.'
    }),
    ownerId: reference('Organization')('owner', { filter: 'organization', about: 'Who is responsible for it.' }),
    locationId: reference('Location')('location', { filter: 'location' }),
    parentId: reference('Device')('parent', { about: 'The device that it is a part of.' }),
    url: uri('url', { about: 'Where it can be reached.' }),
    version: backbone({ value: text('value', { required: true }), type: concept('type') }).list('version', {
      about: 'The versions of its hardware and software.'
    }),
    safety: concept.list('safety', { about: 'Safety information, such as that it contains latex.' }),
    note: note('note')
  },
  filters: { udi: byText('udi-di') }
})
