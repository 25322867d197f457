const link = /(\s(?:href|src)\s*=\s*)(?:"([^"]*)"|'([^']*)')/gi
const entity = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi
const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * XHTML with the values of `href` and `src` mapped: http://hl7.org/fhir/R4/http.html#trules. A value is mapped as what
 * it means, without entities; one that stays the same keeps its notation.
 */
export function mapNarrativeLinks (div: string, map: (url: string) => string): string {
  return div.replace(link, (attribute, name: string, double?: string, single?: string) => {
    const url = (double ?? single)!.replace(entity, characterOf)
    const mapped = map(url)
    return mapped === url ? attribute : `${name}"${escaped(mapped)}"`
  })
}

function characterOf (text: string, hex?: string, decimal?: string, name?: string): string {
  if (name !== undefined) return characters[name.toLowerCase()]!
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code <= 0x10FFFF ? String.fromCodePoint(code) : text
}

const escaped = (url: string): string =>
  url.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
