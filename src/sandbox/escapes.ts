/** Splits at a separator that no backslash precedes; the parts keep their escapes: http://hl7.org/fhir/R4/search.html#escaping */
export function split (text: string, separator: ',' | '|'): string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/\\.|[^\\]|\\$/gsu)) {
    if (piece === separator) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts
}

/** The text that an escaped one stands for. */
export function unescaped (text: string): string {
  return text.replace(/\\([,|$\\])/g, '$1')
}
