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
  const { host } = new URL(baseUrl)
  return text => mayRefer(text, host) ? text.replace(absolute, '$1') : text
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
