/**
 * The simple form written straight from the text of a record: each way to read a value may have one to write what it
 * shows, and both say the same.
 */
import type { JsonNode, JsonNodes } from '../../json/nodes/json-nodes.js'
import { encodeText, getNameId } from '../../json/nodes/json-nodes.js'
import { printJson } from '../../json/json.js'
import type { Elements } from './element.js'
import { withAt } from './path.js'

/**
 * Writes `prefix` and the shown form of a value, or nothing.
 * @returns whether anything is shown
 */
export type Print = (nodes: JsonNodes, node: JsonNode, prefix: Uint8Array) => boolean

type Read = (stored: any) => unknown

// Keyed by the function that reads, so that an element that reads in another way does not print in the old way.
const printers = new WeakMap<Read, Print>()

/** The function that reads, which from now on has a way to write what it reads. */
export function withPrinter<R extends Read> (read: R, print: Print): R {
  printers.set(read, print)
  return read
}

/** How a function's values are written: its own way, or by what it reads. */
export const getPrinter = (read: Read): Print => printers.get(read) ?? printRead(read)

/** The same for a function that reads of an object what stands at a path, and shows nothing if that is nothing. */
export function printAt (path: string, read: Read): Print {
  const names = toNameIds(path)
  const print = printRead(value => read(withAt({}, path, value)))
  return (nodes, holder, prefix) => {
    const node = nodes.findAt(holder, names)
    return node !== 0 && print(nodes, node, prefix)
  }
}

/** Writes what a function reads. */
export function printRead (read: Read): Print {
  return (nodes, node, prefix) => {
    const shown = read(nodes.getValue(node))
    if (shown === undefined) return false
    nodes.write(prefix)
    nodes.writeText(printJson(shown))
    return true
  }
}

/** Whether all fields have a way to be written that does not read the whole record. */
export const canPrint = (fields: Elements): boolean => Object.values(fields).every(({ read }) => printers.has(read))

/** The ids of the names of a path of single elements. */
export const toNameIds = (path: string): readonly number[] => path.split('.').map(getNameId)

/** Writes a text that is not empty. */
export const printText: Print = (nodes, node, prefix) => nodes.isText(node) && copyNode(nodes, node, prefix)

/** Writes `prefix` and a value as it stands. @returns true */
export function copyNode (nodes: JsonNodes, node: JsonNode, prefix: Uint8Array): true {
  nodes.write(prefix)
  nodes.copy(node)
  return true
}

/** Before an item of a list that another one is before. */
const comma = Uint8Array.of(0x2c)
const openObject = 0x7b
const closeObject = Uint8Array.of(0x7d)
const openList = 0x5b
const closeList = Uint8Array.of(0x5d)

/** Before a member of an object that another one is before. */
export const encodeMemberPrefix = (name: string): Uint8Array =>
  Uint8Array.from([...comma, ...encodeText(name), 0x3a])

/** Writes the members that elements show of an object, each with a comma before it. */
export function createMemberPrinter (elements: Elements): (nodes: JsonNodes, holder: JsonNode) => void {
  const fields = Object.entries(elements)
    .map(([name, { read }]) => ({ print: getPrinter(read), prefix: encodeMemberPrefix(name) }))
  return (nodes, holder) => {
    for (const { print, prefix } of fields) print(nodes, holder, prefix)
  }
}

/** Writes an object of the members that a function writes, each with a comma before it; nothing if there are none. */
export function printObject (members: (nodes: JsonNodes, node: JsonNode) => void): Print {
  return (nodes, node, prefix) => {
    const start = nodes.length
    nodes.write(prefix)
    const open = nodes.length
    members(nodes, node)
    return closeOrDiscard(nodes, { start, open, isList: false })
  }
}

/** The object of a structure with elements; nothing for what is no object, or has a member that alters the others. */
export function createStructurePrinter (elements: Elements, alteredBy?: string): Print {
  const print = printObject(createMemberPrinter(elements))
  const altering = alteredBy === undefined ? undefined : getNameId(alteredBy)
  return (nodes, node, prefix) =>
    nodes.isObject(node) && (altering === undefined || nodes.find(node, altering) === 0) && print(nodes, node, prefix)
}

/** Writes a list of the shown forms of a list's items, beginning at one of them; writes nothing if no item is shown. */
export function printItems (
  nodes: JsonNodes,
  { list, from }: { readonly list: JsonNode; readonly from: JsonNode },
  { item: print, prefix }: { readonly item: Print; readonly prefix: Uint8Array }
): boolean {
  const start = nodes.length
  nodes.write(prefix)
  const open = nodes.length
  for (let item = from; item !== 0; item = nodes.nextItem(list, item)) print(nodes, item, comma)
  return closeOrDiscard(nodes, { start, open, isList: true })
}

/** Ends what begins in place of the first comma; takes it back if there is nothing in it. */
function closeOrDiscard (
  nodes: JsonNodes,
  { start, open, isList }: { readonly start: number; readonly open: number; readonly isList: boolean }
): boolean {
  if (nodes.length === open) {
    nodes.length = start
    return false
  }
  nodes.replace(open, isList ? openList : openObject)
  nodes.write(isList ? closeList : closeObject)
  return true
}
