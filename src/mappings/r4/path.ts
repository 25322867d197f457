import { safeName } from '../../envelope/query.js'

/** An element by its name, or the position of an item in its list. */
export type Step = string | number

/** A path as FHIRPath writes it, `Patient.name[0].given`. Names that may be values are not shown. */
export function printPath (type: string, steps: readonly Step[]): string {
  return safeName(type) + steps.map(step => typeof step === 'number' ? `[${step}]` : `.${safeName(step)}`).join('')
}
