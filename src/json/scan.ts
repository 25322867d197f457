/**
 * Facts about a JSON text that are found before the engine's parser builds values from it, so that no oversized value
 * is built.
 */

/**
 * Values in objects and lists: each takes many times its text in memory. A Bundle of 16 MiB has 1,400,000 where its
 * records are dense.
 */
const maxValues = 2_000_000
/** Of {@link ExactNumber}, which costs twenty times what another value does. */
const maxExactNumbers = 100_000
/**
 * The engine keeps something for each sequence of names that it has not met before: a million take seconds. All of R4's
 * definitions have 3,000 elements, and 5,000 records that each lack other ones have some ten thousand sequences.
 */
const maxShapes = 50_000

/** The remaining limits for a client's JSON texts: those of one request share it. */
export class JsonBudget {
  values = maxValues
  exactNumbers = maxExactNumbers
  /** Names in objects, each counted once after the names before it. */
  shapes = maxShapes
}

/** Thrown for a body that is refused; `reason` is fit to be shown and never repeats what was sent. */
export class JsonSyntaxError extends Error {
  constructor (readonly reason: string) {
    super(reason)
    this.name = 'JsonSyntaxError'
  }
}

/** Thrown for what would take too much memory and time to be read. */
export class JsonTooLarge extends JsonSyntaxError {
  constructor () {
    super(
      `at most ${maxValues} values, of which ${maxExactNumbers} may be numbers such as 1.10, 1e2 or with more than 15 digits, in objects with at most ${maxShapes} different names or orders of names`
    )
  }
}

/** A number in a JSON text that a JavaScript number would change. */
export interface ExactText { readonly start: number, readonly text: string }

interface Scan { readonly depth: number, readonly members: number, readonly numbers: readonly ExactText[] }

/** A datastore's responses are read without limits. */
const unbounded: JsonBudget = { values: Infinity, exactNumbers: Infinity, shapes: Infinity }

/**
 * Facts about a text that the engine's parser does not report: its depth, the number of its members, the numbers that
 * the engine would change.
 * @throws {JsonTooLarge} as soon as the text holds more than the budget
 */
export function scan (text: string, budget = unbounded): Scan {
  const numbers: ExactText[] = []
  const shapes = budget === unbounded ? undefined : new Shapes(budget)
  let [depth, deepest, members, values, opened, closed] = [0, 0, 0, 0, 0, 0]
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') {
      opened = i
      i = closed = findTextEnd(text, i)
    } else if (char === ',' || char === '{' || char === '[') {
      if (++values > budget.values) throw new JsonTooLarge()
      if (char === ',') continue
      deepest = Math.max(deepest, ++depth)
      shapes?.enter()
    } else if (char === '}' || char === ']') {
      depth--
      shapes?.leave()
    } else if (char === ':') {
      members++
      shapes?.add(text.slice(opened, closed))
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      const number = readNumber(text, i)
      if (isExact(number) && numbers.push({ start: i, text: number }) > budget.exactNumbers) throw new JsonTooLarge()
      i += number.length - 1
    }
  }
  budget.values -= values
  budget.exactNumbers -= numbers.length
  return { depth: deepest, members, numbers }
}

/** The names that have followed an object's names so far: a tree of the sequences that were met. */
interface Shape extends Map<string, Shape> {}

/** Counts the sequences of names in the objects of a text. */
class Shapes {
  readonly #first: Shape = new Map()
  readonly #ancestors: Shape[] = []
  #current = this.#first

  constructor (readonly budget: JsonBudget) {}

  enter (): void {
    this.#ancestors.push(this.#current)
    this.#current = this.#first
  }

  leave (): void {
    this.#current = this.#ancestors.pop() ?? this.#first
  }

  /** @throws {JsonTooLarge} for one more than the budget */
  add (name: string): void {
    let next = this.#current.get(name)
    if (next === undefined) {
      if (--this.budget.shapes < 0) throw new JsonTooLarge()
      next = new Map()
      this.#current.set(name, next)
    }
    this.#current = next
  }
}

/** An object with more is taken for one that names a member twice: no element of R4 has as many. */
const maxNames = 200

/**
 * Whether an object in valid JSON, within so many brackets, names a member twice. Parsers differ in which of them
 * counts (RFC 8259, section 4), so a reader of such a text may find another value than the one that was checked.
 */
export function hasDuplicateMember (text: string, maxDepth: number): boolean {
  // The names so far of the object that is open at each depth.
  const open: string[][] = []
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x22) {
      const end = findTextEnd(text, i)
      if (depth <= maxDepth && isColonNext(text, end)) {
        const sent = text.slice(i + 1, end)
        const name = sent.includes('\\') ? JSON.parse(`"${sent}"`) as string : sent
        const names = open[depth]!
        if (names.includes(name) || names.push(name) > maxNames) return true
      }
      i = end
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth <= maxDepth) (open[depth] ??= []).length = 0
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return false
}

const colonNext = /\s*:/y

function isColonNext (text: string, end: number): boolean {
  const next = text.charCodeAt(end + 1)
  if (next === 0x3a || next === 0x2c) return next === 0x3a
  colonNext.lastIndex = end + 1
  return colonNext.test(text)
}

/** Where a text in JSON ends that is opened at a place: the place of its closing quotation mark. */
function findTextEnd (text: string, open: number): number {
  let end = open
  let escapes: number
  do {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
  } while (escapes % 2 === 1)
  return end
}

const numberForm = /-?\d[-+.\deE]*|-/y

function readNumber (text: string, start: number): string {
  numberForm.lastIndex = start
  return numberForm.exec(text)![0]
}

const isExact = (text: string): boolean =>
  String(Number(text)) !== text && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
