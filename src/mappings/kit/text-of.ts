import { ExactNumber } from '../../json.js'
import { isElement } from './path.js'

/** A text that two values have in common exactly when they are the same, whatever the order of their members. */
export function textOf (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (!isElement(value)) return value instanceof ExactNumber ? value.text : JSON.stringify(value)
  return `{${Object.keys(value).sort().map(name => `${JSON.stringify(name)}:${textOf(value[name])}`).join()}}`
}
