import table from './elements.json' with { type: 'json' }

const rows = table as unknown as Readonly<Record<string, readonly [mandatory: readonly string[], others: readonly string[]]>>

/** The elements at the top of every record of a type: http://hl7.org/fhir/R4/resourcelist.html */
export function mandatoryElements (type: string): readonly string[] {
  return Object.hasOwn(rows, type) ? rows[type]![0] : []
}

/** Whether R4 has an element of that name at the top of a type; a choice may be named with its type or without, `valueQuantity` or `value`. */
export function hasElement (type: string, name: string): boolean {
  return Object.hasOwn(rows, type) && rows[type]!.flat().some(element => named(element, name) || named(element, `${name}[x]`))
}

/** Whether a member of a record is the element of this name: `valueQuantity` is `value[x]`, and `_birthDate` belongs to `birthDate`. */
export function named (element: string, member: string): boolean {
  const plain = member.replace(/^_/, '')
  if (!element.endsWith('[x]')) return element === plain
  const stem = element.slice(0, -3)
  return plain === element || (plain.startsWith(stem) && /^[A-Z]/.test(plain.slice(stem.length)))
}
