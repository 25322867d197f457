import { datatype } from '../core/datatype.js'
import type { ElementOptions } from '../core/element.js'
import { inItemWithUse } from './in-item.js'

/** The identifier system of the US National Provider Identifier. */
export const npiSystem = 'http://hl7.org/fhir/sid/us-npi'

const digits = datatype<string>({
  schema: { type: 'string', format: 'npi', 'x-expects': 'ten digits, the last of which is the NPI check digit' },
  kind: 'token',
  read: stored => typeof stored === 'string' ? stored : undefined,
  write: value => value
})

/** The NPI in use among the identifiers, as its ten digits. */
export const npi = <const O extends ElementOptions = object>(options?: O) =>
  inItemWithUse('identifier', npiSystem, digits('value', options))
