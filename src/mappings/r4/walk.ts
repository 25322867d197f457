import { maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../fhir.js'
import { printPath, type Step } from './path.js'

/** Where the walk into a resource is. A path is printed only where something is wrong. */
export interface Walk {
  readonly type: string
  /** Elements by their names and positions in lists. */
  readonly steps: Step[]
  readonly issues: Issue[]
  /** The types of the resources contained in the one where the walk is, by their ids. */
  contained: ReadonlyMap<string, string>
  /** Whether a list of `_x` is longer than that of `x`, so that {@link padLists} has something to do. */
  hasLongExtras: boolean
}

/** Adds a fault at the element where the walk is, or below it. */
export function reportFault (
  { type, steps, issues }: Walk,
  message: string,
  code = 'structure',
  ...below: readonly Step[]
): void {
  if (issues.length < maxIssues) issues.push(fieldIssue(printPath(type, [...steps, ...below]), message, code))
}

/** Neither there nor null. */
export const isNothing = (value: unknown): value is undefined | null => value === undefined || value === null

/** Whether a value is an object of JSON, numbers with their text aside. */
export const isPlainObject = (value: unknown): value is FhirElement =>
  !isNothing(value) && Object.getPrototypeOf(value) === Object.prototype
