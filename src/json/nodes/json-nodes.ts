import { parseStored, printJson } from '../json.js'
import { compiled } from './compiled.js'
import { CompiledCode, ownApi, type WasmMemory, type WebAssemblyApi } from './web-assembly.js'

/** The exports of `nodes.as.ts`. */
interface Exports {
  readonly memory: WasmMemory
  readonly addName: (length: number, id: number) => number
  readonly writeNodes: (length: number, output: number) => number
}

/** The start of the text in the memory of `nodes.as.ts`. */
const textStart = 65_536
/** The compiled code reads sixteen bytes at a time, and stops at a zero. */
const paddingBytes = 32
/** UTF-8 has at most so many for each of JavaScript's characters. */
const bytesPerCharacter = 3
/** Room for the values, sixteen bytes for each: in a page of records there is one for some nine characters. */
const estimateNodeBytes = (length: number): number => 4_096 + length * 3
const maxNameBytes = 64
/** The size of the output, at first and at most between two texts. */
const outputBytes = 65_536
const maxOutputBytes = 1_048_576

const escaped = 0x1_0000
const nameMask = 0xffff

/** The first bytes of values. */
const quote = 0x22
const openList = 0x5b
const openObject = 0x7b
const isNumberStart = (char: number): boolean => char === 0x2d || (char >= 0x30 && char <= 0x39)

const encoder = new TextEncoder()

/** The names that are looked for in texts, with their ids. */
const ids = new Map<string, number>()

/** The id by which {@link JsonNodes.find} finds members of a name, which is one of the code's and not of a text's. */
export function getNameId (name: string): number {
  const known = ids.get(name)
  if (known !== undefined) return known
  if (Buffer.byteLength(name) > maxNameBytes) throw new RangeError(`too long a name: ${name}`)
  ids.set(name, ids.size + 1)
  return ids.size
}

/** The ids of several names, by the names. */
export const getNameIds = <N extends string>(...names: readonly N[]): Readonly<Record<N, number>> =>
  Object.fromEntries(names.map(name => [name, getNameId(name)])) as Record<N, number>

/** For tests: other code, or a Node.js without WebAssembly. */
interface NodesOptions {
  readonly code?: string
  readonly api?: WebAssemblyApi | null
}

/** A value in a text, or nothing, which is 0. */
export type JsonNode = number

/** The outermost value of a text. */
export const outermost: JsonNode = 1

/**
 * The values of a JSON text, found in place and copied in parts to another text, so that nothing is made of what is
 * only copied. It holds one text at a time. A member that is named twice is the last one, as the engine reads it.
 */
export class JsonNodes {
  readonly #code: CompiledCode<Exports>
  #names = 0
  #bytes = Buffer.alloc(0)
  #nodes = new Int32Array(0)
  /** The object whose members are indexed, -1 for none, and the members by the ids of their names. */
  #indexed = -1
  #members = new Int32Array(0)
  readonly #values = new Map<JsonNode, unknown>()
  #output = Buffer.allocUnsafe(outputBytes)
  /** How much is written. Setting it back takes back what was written since. */
  length = 0
  /** How many texts it has taken. */
  opened = 0

  constructor ({ code = compiled, api = ownApi }: NodesOptions = {}) {
    this.#code = new CompiledCode(code, api)
  }

  /**
   * Takes another text, in valid UTF-8, with nothing written yet.
   * @returns whether it is JSON that can be read here; false also for one that has more than some MiB, an escape in a
   * name, or a hundred brackets within each other
   */
  open (text: Buffer): boolean {
    this.length = 0
    this.opened++
    this.#indexed = -1
    this.#values.clear()
    const exports = this.#code.open(textStart + text.length + paddingBytes + estimateNodeBytes(text.length))
    if (exports === undefined) return false
    this.#bytes = this.#code.memory
    if (this.#names < ids.size) this.#addNames(exports)
    this.#bytes.set(text, textStart)
    const end = textStart + text.length
    this.#bytes.fill(0, end, end + paddingBytes)
    const output = (end + paddingBytes) & ~3
    const count = exports.writeNodes(text.length, output)
    if (count < 0) return false
    this.#nodes = new Int32Array(exports.memory.buffer, output, count * 4)
    return true
  }

  #addNames (exports: Exports): void {
    for (const [name, id] of ids) {
      if (id <= this.#names) continue
      const length = this.#bytes.write(name, textStart)
      this.#bytes.fill(0, textStart + length, textStart + length + paddingBytes)
      if (exports.addName(length, id) === 0) throw new RangeError('too many names')
    }
    this.#names = ids.size
    this.#members = new Int32Array(ids.size + 1)
  }

  /** Makes {@link find} take no time for one object, until another one is indexed. */
  index (holder: JsonNode): void {
    this.#indexed = -1
    const [nodes, members] = [this.#nodes, this.#members]
    if (!this.isObject(holder)) return
    members.fill(0)
    const end = nodes[holder * 4 + 3]!
    for (let node = holder + 1; node < end; node = nodes[node * 4 + 3]!) members[nodes[node * 4]! & nameMask] = node
    this.#indexed = holder
  }

  /** The member of an object by its {@link getNameId}; 0 if it has none, and of anything that is no object. */
  find (holder: JsonNode, name: number): JsonNode {
    if (holder === this.#indexed) return this.#members[name] ?? 0
    const nodes = this.#nodes
    if (this.#bytes[nodes[holder * 4 + 1]!] !== openObject) return 0
    const end = nodes[holder * 4 + 3]!
    let found = 0
    for (let node = holder + 1; node < end; node = nodes[node * 4 + 3]!) {
      if ((nodes[node * 4]! & nameMask) === name) found = node
    }
    return found
  }

  /** The node at a path of single elements; 0 if there is none. */
  findAt (holder: JsonNode, path: readonly number[]): JsonNode {
    let here = holder
    for (const name of path) {
      here = this.find(here, name)
      if (here === 0) return 0
    }
    return here
  }

  /** The first item of a list; 0 of an empty one, and of anything else. */
  firstItem (list: JsonNode): JsonNode {
    return this.#getFirstByte(list) === openList ? this.nextItem(list, list) : 0
  }

  /** The item behind an item, which is the list itself before the first one; 0 behind the last. */
  nextItem (list: JsonNode, item: JsonNode): JsonNode {
    const next = item === list ? list + 1 : this.#nodes[item * 4 + 3]!
    return next < this.#nodes[list * 4 + 3]! ? next : 0
  }

  isObject (node: JsonNode): boolean {
    return this.#getFirstByte(node) === openObject
  }

  isNumber (node: JsonNode): boolean {
    return isNumberStart(this.#getFirstByte(node))
  }

  isBoolean (node: JsonNode): boolean {
    const char = this.#getFirstByte(node)
    return char === 0x74 || char === 0x66
  }

  isNull (node: JsonNode): boolean {
    return this.#getFirstByte(node) === 0x6e
  }

  isString (node: JsonNode): boolean {
    return this.#getFirstByte(node) === quote
  }

  /** Whether it is a text that is not empty. */
  isText (node: JsonNode): boolean {
    const nodes = this.#nodes
    const start = nodes[node * 4 + 1]!
    return this.#bytes[start] === quote && nodes[node * 4 + 2]! > start + 2
  }

  /** Whether it is a text with an escape, so that its bytes are not those of its value. */
  isEscaped (node: JsonNode): boolean {
    return (this.#nodes[node * 4]! & escaped) !== 0
  }

  /** Whether it is this text, given as the bytes of {@link encodeText}. */
  isSame (node: JsonNode, text: Uint8Array): boolean {
    if (this.isEscaped(node)) return JSON.stringify(this.getValue(node)) === Buffer.from(text).toString()
    const bytes = this.#bytes
    const start = this.#nodes[node * 4 + 1]!
    const { length } = text
    if (this.#nodes[node * 4 + 2]! - start !== length) return false
    for (let i = 1; i < length; i++) if (bytes[start + i] !== text[i]) return false
    return bytes[start] === quote
  }

  /** The text of a value as it stands, with a character for each of its bytes. */
  getSource (node: JsonNode): string {
    return this.#bytes.toString('latin1', this.#nodes[node * 4 + 1], this.#nodes[node * 4 + 2])
  }

  /** The value of a node, as {@link parseStored} returns it. */
  getValue (node: JsonNode): unknown {
    if (this.#values.has(node)) return this.#values.get(node)
    const value = parseStored(this.#bytes.toString('utf8', this.#nodes[node * 4 + 1], this.#nodes[node * 4 + 2]))
    this.#values.set(node, value)
    return value
  }

  /** Writes bytes. */
  write (text: Uint8Array): void {
    const { length } = text
    const output = this.#ensureCapacity(length)
    const to = this.length
    for (let i = 0; i < length; i++) output[to + i] = text[i]!
    this.length = to + length
  }

  /** Writes a text, of which no character is escaped. */
  writeText (text: string): void {
    this.length += this.#ensureCapacity(text.length * bytesPerCharacter).write(text, this.length)
  }

  /** Writes another byte at a place where something was written. */
  replace (at: number, char: number): void {
    this.#output[at] = char
  }

  /** Writes a text, number or boolean as the printer of {@link getValue} would. */
  copy (node: JsonNode): void {
    if (this.isEscaped(node)) this.writeText(printJson(this.getValue(node)))
    else this.#copy(this.#nodes[node * 4 + 1]!, this.#nodes[node * 4 + 2]!)
  }

  /** Writes the content of a text between its quotation marks. */
  copyInside (node: JsonNode): void {
    if (this.isEscaped(node)) this.writeText(printJson(this.getValue(node)).slice(1, -1))
    else this.#copy(this.#nodes[node * 4 + 1]! + 1, this.#nodes[node * 4 + 2]! - 1)
  }

  /** All that is written. What was made of values is forgotten, and room that is seldom needed is given back. */
  takeOutput (): Buffer {
    const written = Buffer.from(this.#output.subarray(0, this.length))
    this.#values.clear()
    if (this.#output.length > maxOutputBytes) this.#output = Buffer.allocUnsafe(outputBytes)
    return written
  }

  #getFirstByte (node: JsonNode): number {
    return this.#bytes[this.#nodes[node * 4 + 1]!]!
  }

  #copy (from: number, to: number): void {
    const [bytes, output] = [this.#bytes, this.#ensureCapacity(to - from)]
    let at = this.length
    if (to - from > 64) {
      bytes.copy(output, at, from, to)
      this.length = at + to - from
      return
    }
    for (let i = from; i < to; i++) output[at++] = bytes[i]!
    this.length = at
  }

  #ensureCapacity (length: number): Buffer {
    const needed = this.length + length
    if (needed > this.#output.length) {
      const output = Buffer.allocUnsafe(needed * 2)
      this.#output.copy(output, 0, 0, this.length)
      this.#output = output
    }
    return this.#output
  }
}

/** A text as JSON has it, in bytes. */
export const encodeText = (text: string): Uint8Array => encoder.encode(JSON.stringify(text))
