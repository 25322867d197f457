/** How values of search parameters are written: http://hl7.org/fhir/R4/search.html#escaping */

/** A text as one value. */
export function escapeSearchValue (text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&')
}

/** The text without its escapes. */
export function unescapeSearchValue (text: string): string {
  return text.replace(/\\([\\,|$])/g, '$1')
}

/** How many parts {@link splitUnescaped} would make. */
export function countAlternatives (text: string, separator: ',' | '|'): number {
  let parts = 1
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === separator) parts++
  }
  return parts
}

/** Splits at a separator that no backslash precedes; the parts keep their escapes. A client's value may have 16 MiB. */
export function splitUnescaped (text: string, separator: ',' | '|' | '$'): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === separator) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}
