import { encodeText, getNameIds, type JsonNode, type JsonNodes } from '../../json/nodes/json-nodes.js'
import type { FhirElement } from '../fhir.js'
import { text, textUpTo, nonBlankText } from '../datatypes/primitives.js'
import type { Datatype } from '../core/datatype.js'
import type { Element, ElementOptions } from '../core/element.js'
import { isElement, itemsAt, toItems, withMember } from '../core/path.js'
import { withPrinter, getPrinter, printRead, printText } from '../core/print.js'
import type { Rule } from '../core/rule.js'

type Options = ElementOptions & { readonly max?: number }

/**
 * The fields of a person's name. They show the official name, else the usual one, else the first that is not old, else
 * the first; other names remain unchanged. `name.text` would be wrong next to a changed part, so it is removed.
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

const nameFields = [firstName(), lastName()]

/** The name of a person with one name is in either field: R4 requires neither. */
export const nameRule: Rule = {
  fields: ['firstName', 'lastName'],
  message: 'firstName or lastName is required; send the one name of a person in either of them',
  holds: person => nameFields.some(({ read }) => read(person) !== undefined)
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

const readFullName = (holder: FhirElement): string | undefined => {
  const name = selectName(holder)
  return name && (text.codec.read(name.text) ?? renderName(name))
}

/** The whole name as one text: `name.text`, or rendered from the parts. */
export function fullName<const O extends ElementOptions = object> (
  options?: O
): Element<string, O & { readOnly: true }> {
  return {
    ...text('name.text', { ...options, readOnly: true } as unknown as O & { readOnly: true }),
    read: withPrinter(readFullName, printFullName),
    write: holder => holder
  }
}

/** The whole name as another system stored it in one text: `name.text`; nothing where it is stored in parts alone. */
export const storedFullName = (options?: ElementOptions): Element<string, ElementOptions & { readOnly: true }> =>
  ({ ...namePart(text('text', { ...options, readOnly: true as const })), write: holder => holder })

function namePart<T, O extends ElementOptions> (part: Element<T, O>): Element<T, O> {
  const print = getPrinter(part.read)
  return {
    ...part,
    path: `name.${part.path}`,
    read: withPrinter(
      (holder: FhirElement) => {
        const name = selectName(holder)
        return name && part.read(name)
      },
      (nodes, holder, prefix) => {
        const name = selectNameNode(nodes, holder)
        return name !== 0 && print(nodes, name, prefix)
      }
    ),
    write (holder, value) {
      const names = itemsAt(holder, 'name')
      const index = selectNameIndex(holder)
      const before = index < 0 ? { use: 'official' } : names[index] as FhirElement
      const name = writePart(part, before, value)
      if (name === before) return holder
      return withMember(holder, 'name', index < 0 ? [...names, name] : names.with(index, name))
    }
  }
}

function onlyNamePart<T> (part: Element<T>): Element<T> {
  const print = getPrinter(part.read)
  return {
    ...part,
    path: `name.${part.path}`,
    read: withPrinter(
      (holder: FhirElement) => isElement(holder.name) ? part.read(holder.name) : undefined,
      (nodes, holder, prefix) => {
        const name = nodes.find(holder, names.name)
        return name !== 0 && nodes.isObject(name) && print(nodes, name, prefix)
      }
    ),
    write (holder, value) {
      const before = isElement(holder.name) ? holder.name : {}
      const name = writePart(part, before, value)
      if (name === before) return holder
      return withMember(holder, 'name', Object.keys(name).length === 0 ? undefined : name)
    }
  }
}

/** A name with another part and without the text that showed the old one. */
function writePart<T> (part: Element<T>, name: FhirElement, value: T | undefined): FhirElement {
  const after = part.write(name, value)
  return after === name ? name : withMember(withMember(after, 'text', undefined), '_text', undefined)
}

function selectName (holder: FhirElement): FhirElement | undefined {
  const index = selectNameIndex(holder)
  return index < 0 ? undefined : toItems(holder.name)[index] as FhirElement
}

/** @returns -1 when there is no name */
function selectNameIndex (holder: FhirElement): number {
  const names = toItems(holder.name)
  let chosen = -1
  let best = 0
  for (let index = 0; index < names.length; index++) {
    const name = names[index]
    const rank = isElement(name) ? rankUse(name.use) : 0
    if (rank > best) [chosen, best] = [index, rank]
  }
  return chosen
}

const names = getNameIds('name', 'use', 'text', 'prefix', 'given', 'family', 'suffix')
const [official, usual, old, maiden] = ['official', 'usual', 'old', 'maiden'].map(encodeText) as
  [Uint8Array, Uint8Array, Uint8Array, Uint8Array]

/** The name in a text that {@link selectName} chooses; 0 if there is none. */
function selectNameNode (nodes: JsonNodes, holder: JsonNode): JsonNode {
  if (last.nodes !== nodes || last.opened !== nodes.opened || last.holder !== holder) {
    last = { nodes, opened: nodes.opened, holder, name: findNameNode(nodes, holder) }
  }
  return last.name
}

// Each field of a name looks for it, and they follow each other.
let last: { nodes?: JsonNodes; opened?: number; holder?: JsonNode; name: JsonNode } = { name: 0 }

function findNameNode (nodes: JsonNodes, holder: JsonNode): JsonNode {
  const list = nodes.find(holder, names.name)
  let chosen = 0
  let best = 0
  for (let name = nodes.firstItem(list); name !== 0; name = nodes.nextItem(list, name)) {
    const rank = nodes.isObject(name) ? rankUseNode(nodes, nodes.find(name, names.use)) : 0
    if (rank > best) [chosen, best] = [name, rank]
  }
  return chosen
}

function rankUseNode (nodes: JsonNodes, use: JsonNode): number {
  if (use === 0) return 2
  if (nodes.isSame(use, official)) return 4
  if (nodes.isSame(use, usual)) return 3
  return nodes.isSame(use, old) || nodes.isSame(use, maiden) ? 1 : 2
}

/** As {@link readFullName}. */
function printFullName (nodes: JsonNodes, holder: JsonNode, prefix: Uint8Array): boolean {
  const name = selectNameNode(nodes, holder)
  if (name === 0) return false
  const text = nodes.find(name, names.text)
  if (text !== 0 && printText(nodes, text, prefix)) return true
  const listTexts = (list: JsonNode): JsonNode[] => listTextsFrom(nodes, list, nodes.firstItem(list))
  const family = nodes.find(name, names.family)
  const words = [
    ...listTexts(nodes.find(name, names.prefix)),
    ...listTexts(nodes.find(name, names.given)),
    ...family !== 0 && nodes.isText(family) ? [family] : [],
    ...listTexts(nodes.find(name, names.suffix))
  ]
  return printWords(nodes, words, prefix)
}

/** The items of a list from one on that are texts and not empty. */
function listTextsFrom (nodes: JsonNodes, list: JsonNode, from: JsonNode): JsonNode[] {
  const texts: JsonNode[] = []
  for (let item = from; item !== 0; item = nodes.nextItem(list, item)) if (nodes.isText(item)) texts.push(item)
  return texts
}

const [quotationMark, spaceBetween] = [Uint8Array.of(0x22), Uint8Array.of(0x20)]

/** Writes texts as one, with a space between them; nothing if there are none. */
function printWords (nodes: JsonNodes, texts: readonly JsonNode[], prefix: Uint8Array): boolean {
  if (texts.length === 0) return false
  nodes.write(prefix)
  nodes.write(quotationMark)
  texts.forEach((text, i) => {
    if (i > 0) nodes.write(spaceBetween)
    nodes.copyInside(text)
  })
  nodes.write(quotationMark)
  return true
}

function rankUse (use: unknown): number {
  if (use === 'official') return 4
  if (use === 'usual') return 3
  return use === 'old' || use === 'maiden' ? 1 : 2
}

function renderName (name: FhirElement): string | undefined {
  const parts = [...toItems(name.prefix), ...toItems(name.given), name.family, ...toItems(name.suffix)]
  const shown = parts.filter(part => typeof part === 'string' && part !== '')
  return shown.length === 0 ? undefined : shown.join(' ')
}

/** In the place of a first name that is not there, which givenNameRule refuses before a later one. */
const noName = null as unknown as string

function firstGivenName<const O extends ElementOptions> (datatype: Datatype<string>, options: O): Element<string, O> {
  const part = datatype.first('given', options)
  const print = getPrinter(part.read)
  return {
    ...part,
    read: withPrinter(
      (name: FhirElement) => isFirstNameRemoved(name) ? undefined : part.read(name),
      (nodes, name, prefix) => {
        const first = nodes.firstItem(nodes.find(name, names.given))
        if (first === 0) return false
        return nodes.isNull(first) && isFirstNameRemoved(nodes.getValue(name) as FhirElement)
          ? false
          : print(nodes, name, prefix)
      }
    ),
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
  const readGivenNames = (name: FhirElement): readonly string[] => {
    const names = all.read(name) ?? []
    return isFirstNameRemoved(name) ? [noName, ...names] : names
  }
  const read = (name: FhirElement): string | undefined => {
    const names = readGivenNames(name)
    return names.length < 2 ? undefined : names.slice(1).join(' ')
  }
  const printReadLater = printRead(read)
  return {
    ...datatype('given', options),
    read: withPrinter(read, (nodes, name, prefix) => {
      const list = nodes.find(name, names.given)
      const first = nodes.firstItem(list)
      if (first === 0) return false
      if (!nodes.isText(first)) return printReadLater(nodes, name, prefix)
      return printWords(nodes, listTextsFrom(nodes, list, nodes.nextItem(list, first)), prefix)
    }),
    write (name, value) {
      const [head = noName, ...others] = readGivenNames(name)
      const later = value?.split(' ') ?? []
      if (others.join(' ') === later.join(' ')) return name
      if (head === noName && later.length === 0) return withoutGivenNames(name)
      return all.write(name, [head, ...later])
    }
  }
}

const isFirstNameRemoved = (name: FhirElement): boolean =>
  toItems(name.given)[0] === noName && !isElement(toItems(name['_given'])[0])

const withoutGivenNames = (name: FhirElement): FhirElement =>
  withMember(withMember(name, 'given', undefined), '_given', undefined)
