import { JsonBytes } from '../json/bytes/json-bytes.js'

const jsonBytes = new JsonBytes()
const memberName = Buffer.from('"reference"')

/**
 * The references in JSON of one server. R4 lets it write `http://base/Patient/1` in place of `Patient/1`, and all that
 * is behind its backend knows one form only. Other URLs stay, since a canonical or a system is a name and no address:
 * http://hl7.org/fhir/R4/references.html#literal
 */
export class RelativeReferences {
  readonly #base: Buffer
  readonly #host: string
  readonly #absolute: RegExp

  constructor (baseUrl: string) {
    this.#base = Buffer.from(`${baseUrl}/`)
    this.#host = new URL(baseUrl).host
    // Some servers escape slashes, and some print with spaces.
    const base = `${baseUrl}/`.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('/', '\\\\?/')
    // No text within a resource holds quotes that are not escaped, so only a member can match.
    this.#absolute = new RegExp(`("reference"\\s*:\\s*")${base}(?=[A-Z])`, 'g')
  }

  /** The same text with references to records of this server relative. */
  relativize (text: string): string {
    return mayRefer(text, this.#host) ? text.replace(this.#absolute, '$1') : text
  }

  /** Whether {@link relativize} would change nothing; false also where the check would take long. */
  hasOnlyRelativeReferences (json: Buffer): boolean {
    return !jsonBytes.mayHaveMember(json, memberName, this.#base)
  }
}

/** A URL up to its host, in a member of a Bundle that is no reference. */
const otherMember = /"(?:fullUrl|url)"\s*:\s*"https?:\\?\/\\?\/$/

/**
 * Whether a text may have an absolute reference to a host, which nothing escapes. Nearly all texts have none, and the
 * search for a fixed text takes a fraction of the time that the expression takes for the whole.
 */
function mayRefer (text: string, host: string): boolean {
  for (let at = text.indexOf(host); at >= 0; at = text.indexOf(host, at + host.length)) {
    if (!otherMember.test(text.slice(Math.max(0, at - 40), at))) return true
  }
  return false
}
