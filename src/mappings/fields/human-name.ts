import type { FhirElement } from '../fhir.js'
import { text, textUpTo, nonBlankText } from '../datatypes/primitives.js'
import type { Datatype } from '../core/datatype.js'
import type { Element, ElementOptions } from '../core/element.js'
import { isElement, itemsAt, itemsOf, withMember } from '../core/path.js'
import type { Rule } from '../core/rule.js'

type Options = ElementOptions & { readonly max?: number }

/**
 * The fields of a person's name. They show the official name, else the usual one, else the first that is not old, else
 * the first; other names are kept. `name.text` next to a changed part would be a lie, so it goes.
 * http://hl7.org/fhir/R4/datatypes.html#HumanName
 */
export const firstName = <const O extends Options = object>(options?: O) =>
  namePart(firstGivenName(textUpTo(options?.max), options ?? ({} as O)))
export const lastName = <const O extends Options = object>(options?: O) =>
  namePart(textUpTo(options?.max)('family', options))
export const firstNamePrefix = <const O extends ElementOptions = object>(options?: O) =>
  namePart(text.first('prefix', options))
export const firstNameSuffix = <const O extends ElementOptions = object>(options?: O) =>
  namePart(text.first('suffix', options))
export const namePrefixes = <const O extends ElementOptions = object>(options?: O) =>
  namePart(text.list('prefix', options))
export const nameSuffixes = <const O extends ElementOptions = object>(options?: O) =>
  namePart(text.list('suffix', options))

/** The given names after the first, with one space between them. */
export const middleName = <const O extends ElementOptions = object>(options?: O) =>
  namePart(laterGivenNames(nonBlankText, options ?? ({} as O)))

/** The first given name of a contact, who has one name. */
export const contactFirstName = (): Element<string> => onlyNamePart(text.first('given'))
/** The family name of a contact. */
export const contactLastName = (): Element<string> => onlyNamePart(text('family'))

/** Of a person with one name, the name stands in either field: R4 requires neither. */
export const nameRule: Rule = {
  fields: ['firstName', 'lastName'],
  message: 'firstName or lastName is required; send the one name of a person in either of them',
  holds: person => firstName().read(person) !== undefined || lastName().read(person) !== undefined
}

/** No later given name becomes the first one by a removal: the list of given names has no empty item. */
export const givenNameRule = (field: string, message: string): Rule => ({
  key: 'ele-1',
  fields: [field],
  message,
  holds: person => itemsAt(person, 'name').every(name => !isElement(name) ||
    itemsAt(name, 'given').every((value, i) => value !== null || isElement(itemsAt(name, '_given')[i])))
})

/** The rules of persons whose later given names only raw FHIR shows. */
export const nameRules: readonly Rule[] = [
  nameRule,
  givenNameRule('firstName', 'further given names are stored, which raw FHIR shows; change or remove them there')
]

/** The whole name as one text: `name.text`, or rendered from the parts. */
export function fullName<const O extends ElementOptions = object> (
  options?: O
): Element<string, O & { readOnly: true }> {
  const shown = { ...options, readOnly: true } as unknown as O & { readOnly: true }
  return {
    ...text('name.text', shown),
    read (holder) {
      const name = chosenName(holder)
      return name && (text.codec.read(name.text) ?? rendered(name))
    },
    write: holder => holder
  }
}

function namePart<T, O extends ElementOptions> (part: Element<T, O>): Element<T, O> {
  return {
    ...part,
    path: `name.${part.path}`,
    read (holder) {
      const name = chosenName(holder)
      return name && part.read(name)
    },
    write (holder, value) {
      const names = itemsAt(holder, 'name')
      const index = chosen(holder)
      const before = index < 0 ? { use: 'official' } : names[index] as FhirElement
      const name = changed(part, before, value)
      if (name === before) return holder
      return withMember(holder, 'name', index < 0 ? [...names, name] : names.with(index, name))
    }
  }
}

function onlyNamePart<T> (part: Element<T>): Element<T> {
  return {
    ...part,
    path: `name.${part.path}`,
    read: holder => isElement(holder.name) ? part.read(holder.name) : undefined,
    write (holder, value) {
      const before = isElement(holder.name) ? holder.name : {}
      const name = changed(part, before, value)
      if (name === before) return holder
      return withMember(holder, 'name', Object.keys(name).length === 0 ? undefined : name)
    }
  }
}

/** A name with another part and without the text that showed the old one. */
function changed<T> (part: Element<T>, name: FhirElement, value: T | undefined): FhirElement {
  const after = part.write(name, value)
  return after === name ? name : withMember(withMember(after, 'text', undefined), '_text', undefined)
}

function chosenName (holder: FhirElement): FhirElement | undefined {
  const index = chosen(holder)
  return index < 0 ? undefined : itemsOf(holder.name)[index] as FhirElement
}

/** @returns -1 when there is no name */
function chosen (holder: FhirElement): number {
  const names = itemsOf(holder.name)
  let chosen = -1
  let best = 0
  for (let index = 0; index < names.length; index++) {
    const name = names[index]
    const rank = isElement(name) ? rankOf(name.use) : 0
    if (rank > best) [chosen, best] = [index, rank]
  }
  return chosen
}

function rankOf (use: unknown): number {
  if (use === 'official') return 4
  if (use === 'usual') return 3
  return use === 'old' || use === 'maiden' ? 1 : 2
}

function rendered (name: FhirElement): string | undefined {
  const parts = [...itemsOf(name.prefix), ...itemsOf(name.given), name.family, ...itemsOf(name.suffix)]
  const shown = parts.filter(part => typeof part === 'string' && part !== '')
  return shown.length === 0 ? undefined : shown.join(' ')
}

/** In the place of a first name that is not there, which givenNameRule refuses before a later one. */
const noName = null as unknown as string

function firstGivenName<const O extends ElementOptions> (datatype: Datatype<string>, options: O): Element<string, O> {
  const part = datatype.first('given', options)
  return {
    ...part,
    read: name => isFirstNameRemoved(name) ? undefined : part.read(name),
    write (name, value) {
      const after = part.write(name, value)
      if (value !== undefined || after === name || part.read(after) === undefined) return after
      const extras = itemsAt(after, '_given')
      const shifted = withMember(after, 'given', [noName, ...itemsAt(after, 'given')])
      return extras.length === 0 ? shifted : withMember(shifted, '_given', [null, ...extras])
    }
  }
}

function laterGivenNames<const O extends ElementOptions> (datatype: Datatype<string>, options: O): Element<string, O> {
  const all = text.list('given')
  const given = (name: FhirElement): readonly string[] => {
    const names = all.read(name) ?? []
    return isFirstNameRemoved(name) ? [noName, ...names] : names
  }
  return {
    ...datatype('given', options),
    read (name) {
      const names = given(name)
      return names.length < 2 ? undefined : names.slice(1).join(' ')
    },
    write (name, value) {
      const [head = noName, ...others] = given(name)
      const later = value?.split(' ') ?? []
      if (others.join(' ') === later.join(' ')) return name
      if (head === noName && later.length === 0) return withoutGivenNames(name)
      return all.write(name, [head, ...later])
    }
  }
}

const isFirstNameRemoved = (name: FhirElement): boolean =>
  itemsOf(name.given)[0] === noName && !isElement(itemsOf(name['_given'])[0])

const withoutGivenNames = (name: FhirElement): FhirElement =>
  withMember(withMember(name, 'given', undefined), '_given', undefined)
