import { ExactNumber } from '../../json/json.js'
import { isElement } from './path.js'

/** A text that is the same for two values exactly when they are equal, in any order of their members. */
export function canonicalJson (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (!isElement(value)) return value instanceof ExactNumber ? value.text : JSON.stringify(value)
  return `{${Object.keys(value).sort().map(name => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join()}}`
}
