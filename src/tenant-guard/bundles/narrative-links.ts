const link = /(\s(?:href|src)\s*=\s*)(["'])(.*?)\2/gis

/** XHTML with the values of `href` and `src` mapped: http://hl7.org/fhir/R4/http.html#trules */
export function mapNarrativeLinks (div: string, map: (url: string) => string): string {
  return div.replace(link, (_, name: string, quote: string, url: string) => `${name}${quote}${map(url)}${quote}`)
}
