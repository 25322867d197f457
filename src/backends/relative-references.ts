/**
 * A function for JSON text of the server with this base URL that makes its references relative: R4 lets a server write
 * `http://base/Patient/1` in place of `Patient/1`, and everything behind this function knows one form only. Other URLs
 * stay, since a canonical or a system is a name and not an address: http://hl7.org/fhir/R4/references.html#literal
 */
export function referenceRelativizer (baseUrl: string): (text: string) => string {
  // Some servers escape slashes, and some print with spaces.
  const base = `${baseUrl}/`.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('/', '\\\\?/')
  // No text within a resource holds quotes that are not escaped, so only a member can match.
  const absolute = new RegExp(`("reference"\\s*:\\s*")${base}(?=[A-Z])`, 'g')
  return text => text.replace(absolute, '$1')
}
