/** Lines that refer to each other, or a single line that does not; the lines that they refer to come earlier. */
export type ReferenceCycle = readonly number[]

/** The references from which the order of lines is computed. */
interface References {
  /** The lines that one refers to. */
  readonly referred: (line: number) => readonly number[]
  /** Whether a line came earlier, or need not come. */
  readonly isOrdered: (line: number) => boolean
}

interface Visit {
  readonly line: number
  readonly number: number
  lowest: number
  readonly targets: readonly number[]
  next: number
}

/** Limits that bound memory: lines on the path of references that are followed, and the references of those lines. */
const deepest = 20_000
const maxFollowed = 100_000

/** Chains of references that are too long to order in bounded memory. */
export class TooDeep extends Error {
  constructor (readonly lines: readonly number[]) {
    super('the reference chains of an import are too long')
    this.name = 'TooDeep'
  }
}

/**
 * Orders lines, and those that they refer to, so that each comes after its references; a cycle is one item. R. Tarjan,
 * Depth-first search and linear graph algorithms, 1972; only the path from the current line is in memory.
 * @throws {TooDeep}
 */
export function * topologicalOrder (
  lines: readonly number[],
  { referred, isOrdered }: References
): Generator<ReferenceCycle> {
  for (const line of lines) if (!isOrdered(line)) yield * from(line, { referred, isOrdered })
}

function * from (first: number, { referred, isOrdered }: References): Generator<ReferenceCycle> {
  const visits = new Map<number, Visit>()
  const path: Visit[] = []
  const open: number[] = []
  let number = 0
  let followed = 0
  const enter = (line: number): void => {
    if (visits.size >= deepest || followed >= maxFollowed) throw new TooDeep([...visits.keys()])
    const visit: Visit = { line, number, lowest: number++, targets: referred(line), next: 0 }
    visits.set(line, visit)
    followed += visit.targets.length
    path.push(visit)
    open.push(line)
  }
  enter(first)
  while (path.length > 0) {
    const visit = path.at(-1)!
    const target = visit.targets[visit.next++]
    if (target !== undefined) {
      const seen = visits.get(target)
      if (seen !== undefined) visit.lowest = Math.min(visit.lowest, seen.number)
      else if (!isOrdered(target)) enter(target)
      continue
    }
    path.pop()
    const before = path.at(-1)
    if (before !== undefined) before.lowest = Math.min(before.lowest, visit.lowest)
    if (visit.lowest !== visit.number) continue
    const together = open.splice(open.lastIndexOf(visit.line))
    for (const line of together) {
      followed -= visits.get(line)!.targets.length
      visits.delete(line)
    }
    yield together.sort((a, b) => a - b)
  }
}
