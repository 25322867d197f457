/** How values of search parameters are written: http://hl7.org/fhir/R4/search.html#escaping */

/** A text as one value. */
export function escaped (text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&')
}

/** The text that an escaped one stands for. */
export function unescaped (text: string): string {
  return text.replace(/\\([\\,|$])/g, '$1')
}

/** Splits at a separator that no backslash precedes; the parts keep their escapes. */
export function splitUnescaped (text: string, separator: ',' | '|'): string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/\\.|./gs)) {
    if (piece === separator) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts
}
