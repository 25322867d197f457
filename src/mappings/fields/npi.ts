import { datatype } from '../core/datatype.js'
import type { ElementOptions } from '../core/element.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { inItemWithUse } from './in-item.js'

/** The identifier system of the US National Provider Identifier. */
export const npiSystem = 'http://hl7.org/fhir/sid/us-npi'

const digits = datatype<string>({
  schema: { type: 'string', format: 'npi', 'x-expects': 'ten digits' },
  kind: 'token',
  read: stored => typeof stored === 'string' ? stored : undefined,
  write: value => value
})

/** The NPI in use among the identifiers, as its ten digits. */
export const npi = <const O extends ElementOptions = object>(options?: O) =>
  inItemWithUse('identifier', npiSystem, digits('value', options))

/** Advice on an NPI whose last digit is not the check digit of the others: R4 has no such rule, so it is stored. */
export const npiCheckDigit: Rule = {
  severity: 'warning',
  fields: ['npi'],
  message: 'the last digit is not the check digit of the other nine; look for a mistyped digit',
  holds: resource => itemsAt(resource, 'identifier').every(item =>
    !isElement(item) || item.system !== npiSystem || typeof item.value !== 'string' ||
    !/^\d{10}$/.test(item.value) || hasCheckDigit(item.value)
  )
}

/** Whether the last digit is the Luhn digit over the prefix 80840. */
function hasCheckDigit (npi: string): boolean {
  const sum = [...`80840${npi}`].reverse()
    .map((digit, index) => Number(digit) * (index % 2 + 1))
    .reduce((total, product) => total + (product > 9 ? product - 9 : product), 0)
  return sum % 10 === 0
}
