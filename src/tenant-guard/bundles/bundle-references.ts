import type { BundleEntry } from '../interaction.js'
import { parseBaseUrl, parseRecordReference, withoutVersion } from '../full-url.js'

/** An entry of a Bundle, by what other entries can refer to it. */
interface ReferableEntry {
  readonly fullUrl?: string | undefined
  /** The type and id in the resource's own content: `Patient/1102`. */
  readonly sentAs?: string | undefined
  /** Where the record is stored, if that is known before the write: `Patient/1`. */
  readonly storedAs?: string | undefined
}

/**
 * The entry of its Bundle that a reference leads to: the fullUrl comes first, in any form; a relative reference is
 * resolved against the base of its own entry's fullUrl: http://hl7.org/fhir/R4/bundle.html#references
 */
export class BundleReferences {
  readonly #entries: readonly ReferableEntry[]
  readonly #byUrl = new Map<string, number>()
  /** Entries whose fullUrl ends with `Type/id`, with any base. */
  readonly #byRecord = new Map<string, number[]>()
  /** Entries that get another id than the one in their content. */
  readonly #bySentId = new Set<string>()

  /** @param backendUrl the datastore's base: a fullUrl below it names a stored record, which only its id may do */
  constructor (entries: readonly ReferableEntry[], backendUrl: string) {
    this.#entries = entries
    for (const [at, { fullUrl, sentAs, storedAs }] of entries.entries()) {
      if (
        fullUrl !== undefined &&
        (fullUrl === parseRecordReference(fullUrl) || fullUrl.startsWith(`${backendUrl}/`))
      ) {
        // No URL that a client can know an entry by; but the entry may be meant.
        if (parseRecordReference(fullUrl) !== storedAs) this.#bySentId.add(parseRecordReference(fullUrl)!)
      } else if (fullUrl !== undefined) {
        this.#byUrl.set(fullUrl, at)
        const record = parseRecordReference(fullUrl)
        if (record !== undefined) this.#byRecord.set(record, [...(this.#byRecord.get(record) ?? []), at])
      }
      if (sentAs !== undefined && sentAs !== storedAs) this.#bySentId.add(sentAs)
    }
  }

  /**
   * @param from the position of the entry that holds the reference
   * @returns the position of the entry that it leads to; `ambiguous` where another entry may be meant, so that looking
   * among the stored records could file the record under another patient; undefined where it leads to none of them
   */
  find (reference: string, from: number): number | 'ambiguous' | undefined {
    const text = withoutVersion(reference)
    const base = parseBaseUrl(this.#entries[from]?.fullUrl)
    const exact = this.#byUrl.get(text) ?? (base === undefined ? undefined : this.#byUrl.get(`${base}/${text}`))
    if (exact !== undefined) return exact
    const alike = this.#byRecord.get(text) ?? []
    if (alike.length === 1 && base === undefined) return alike[0]
    return alike.length > 0 || this.#bySentId.has(text) ? 'ambiguous' : undefined
  }

  /** Whether any fullUrl is a placeholder. */
  get hasPlaceholders (): boolean {
    return [...this.#byUrl.keys()].some(url => this.findPlaceholder(url) !== undefined)
  }

  /** The position of the entry whose fullUrl is this placeholder: a URL of no server, such as `urn:uuid:…`. */
  findPlaceholder (url: string): number | undefined {
    return /^https?:/i.test(url) || parseRecordReference(url) !== undefined ? undefined : this.#byUrl.get(url)
  }
}

/** The id in the content of what an entry writes: `Patient/1102`; undefined where it has none. */
export function getSentReference ({ interaction }: BundleEntry): string | undefined {
  return 'resource' in interaction && interaction.resource.id !== undefined
    ? `${interaction.type}/${interaction.resource.id}`
    : undefined
}
