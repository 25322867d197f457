import table from './elements.json' with { type: 'json' }

const rows = table as unknown as Readonly<Record<string, Readonly<Record<string, string>>>>

/** A member that an object of a type may have in JSON, next to the one with an underscore before its name. */
export interface ElementDefinition {
  /** The element as R4 names it, a choice without its type: `value[x]`. */
  readonly element: string
  /** A type or backbone element of R4 by its name: `string`, `HumanName`, `Patient.contact`, `Resource` for any. */
  readonly type: string
  readonly isList: boolean
  readonly isMandatory: boolean
  /** Whether it is an attribute in XML, which has neither id nor extensions. */
  readonly isAttribute: boolean
  /** The value set to which its codes are bound, where R4 lists it in full. */
  readonly codes?: string
  /** The types of records to which a reference may lead; absent for any. */
  readonly targets?: readonly string[]
}

const known = new Map<string, ReadonlyMap<string, ElementDefinition>>()

/**
 * The members of a type, of each choice one for every type that it may have; undefined for what R4 has no type of:
 * primitive ones, too.
 */
export function findElementDefinitions (type: string): ReadonlyMap<string, ElementDefinition> | undefined {
  const members = known.get(type)
  if (members !== undefined || !Object.hasOwn(rows, type)) return members
  const { is, ...own } = rows[type]!
  const all = new Map([
    ...(is === undefined ? [] : findElementDefinitions(is)!),
    ...Object.entries(own).flatMap(([element, form]) => parseMembers(element, form))
  ])
  known.set(type, all)
  return all
}

/**
 * The types of records to which R4 lets the reference at a path lead, such as `Observation.performer[0]`; undefined for
 * any, and where the path leads into another resource.
 */
export function findReferenceTargets (path: string): readonly string[] | undefined {
  const [type = '', ...names] = path.replaceAll(/\[\d+\]/g, '').split('.')
  let found: Pick<ElementDefinition, 'type' | 'targets'> | undefined = { type }
  for (const name of names) found = findElementDefinitions(found?.type ?? '')?.get(name)
  return found?.targets
}

function parseMembers (element: string, form: string): Array<[string, ElementDefinition]> {
  const [, types, list, mandatory] = /^([^*!]+)(\*?)(!?)$/.exec(form)!
  const about = { element, isList: list !== '', isMandatory: mandatory !== '' }
  const toMemberName = (type: string): string =>
    element.endsWith('[x]') ? element.slice(0, -3) + type[0]!.toUpperCase() + type.slice(1) : element
  return types!.split('|').map(parseType).map(member => [toMemberName(member.type), { ...about, ...member }])
}

/** A type with its binding, targets or attribute: `code#narrative-status`, `Reference>Patient>Group`, `@uri`. */
function parseType (text: string): Pick<ElementDefinition, 'type' | 'isAttribute' | 'codes' | 'targets'> {
  const [, attribute, type, codes, targets] = /^(@?)([^#>]+)(?:#([^#>]+))?((?:>[^#>]+)*)$/.exec(text)!
  return {
    type: type!,
    isAttribute: attribute !== '',
    ...(codes !== undefined && { codes }),
    ...(targets !== '' && { targets: targets!.slice(1).split('>') })
  }
}

/** Whether objects of a type are resources, so that each says its type in `resourceType`; not for the abstract ones. */
export function isResourceType (type: string): boolean {
  return (
    Object.hasOwn(rows, type) &&
    ['Resource', 'DomainResource'].includes(rows[type]!.is ?? '') &&
    type !== 'DomainResource'
  )
}

/** The elements at the top of every record of a type: http://hl7.org/fhir/R4/resourcelist.html */
export function listMandatoryElements (type: string): readonly string[] {
  return [
    ...new Set(
      [...(findElementDefinitions(type)?.values() ?? [])]
        .filter(({ isMandatory }) => isMandatory)
        .map(({ element }) => element)
    )
  ]
}

/**
 * The elements that `_summary=text` shows in addition to id and meta, a choice without its type:
 * http://hl7.org/fhir/R4/search.html#summary
 */
export function listTextSummaryElements (type: string): readonly string[] {
  return ['text', ...listMandatoryElements(type).map(element => element.replace('[x]', ''))]
}

/**
 * Whether R4 has an element of that name at the top of a type; a choice may be named with its type or without,
 * `valueQuantity` or `value`.
 */
export function hasElement (type: string, name: string): boolean {
  const members = findElementDefinitions(type)
  return (
    members !== undefined &&
    (members.has(name) || [...members.values()].some(({ element }) => element === name || element === `${name}[x]`))
  )
}

/**
 * Whether a member of a record is the element of this name: `valueQuantity` is `value[x]`, and `_birthDate` belongs to
 * `birthDate`.
 */
export function isMemberOfElement (element: string, member: string): boolean {
  const plain = member.replace(/^_/, '')
  if (!element.endsWith('[x]')) return element === plain
  const stem = element.slice(0, -3)
  return plain === element || (plain.startsWith(stem) && /^[A-Z]/.test(plain.slice(stem.length)))
}
