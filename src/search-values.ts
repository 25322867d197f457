/** How values of search parameters are written: http://hl7.org/fhir/R4/search.html#escaping */

/** A text as one value. */
export function escaped (text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&')
}

/** The text that an escaped one stands for. */
export function unescaped (text: string): string {
  return text.replace(/\\([\\,|$])/g, '$1')
}

/** How many parts {@link splitUnescaped} would make. */
export function countUnescaped (text: string, separator: ',' | '|'): number {
  let parts = 1
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === separator) parts++
  }
  return parts
}

/** Splits at a separator that no backslash precedes; the parts keep their escapes. */
export function splitUnescaped (text: string, separator: ',' | '|' | '$'): string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/\\.|./gs)) {
    if (piece === separator) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts
}
