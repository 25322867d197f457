import { toSafeName } from '../../envelope/query.js'
import { maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../fhir.js'

/** An element by its name, or the position of an item in its list. */
export type Step = string | number

/** A path as FHIRPath writes it, `Patient.name[0].given`. Names that may be values are not shown. */
export function printPath (type: string, steps: readonly Step[]): string {
  return toSafeName(type) + steps.map(step => typeof step === 'number' ? `[${step}]` : `.${toSafeName(step)}`).join('')
}

/** The state of the traversal of a resource. A path is printed only for an error. */
export interface Walk {
  readonly type: string
  /** Elements by their names and positions in lists. */
  readonly steps: Step[]
  readonly issues: Issue[]
  /** The types of the resources contained in the current one, by their ids. */
  contained: ReadonlyMap<string, string>
  /** Whether a list of `_x` is longer than that of `x`, so that {@link padLists} has something to do. */
  hasLongExtras: boolean
}

/** Adds an error at the current element, or below it. */
export function reportFault (
  { type, steps, issues }: Walk,
  message: string,
  { code = 'structure', below = [] }: { readonly code?: string, readonly below?: readonly Step[] } = {}
): void {
  if (issues.length < maxIssues) issues.push(fieldIssue(printPath(type, [...steps, ...below]), message, code))
}

/** Neither there nor null. */
export const isNothing = (value: unknown): value is undefined | null => value === undefined || value === null

/** Whether a value is an object of JSON, numbers with their text aside. */
export const isPlainObject = (value: unknown): value is FhirElement =>
  !isNothing(value) && Object.getPrototypeOf(value) === Object.prototype
