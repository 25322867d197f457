/** The values of a search; several of one filter mean any of them. */
export type Query = Readonly<Record<string, QueryValue | readonly QueryValue[] | undefined>>

type QueryValue = string | number | boolean

/**
 * Writes a query as the gateway reads it: several values joined by commas, a comma within one escaped.
 * @throws {TypeError} for an empty list, which would otherwise be left out and so match everything
 */
export function printQuery (query: Query): string {
  return Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) =>
      printed(name, value!).map(text => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
    )
    .join('&')
}

function printed (name: string, value: QueryValue | readonly QueryValue[]): string[] {
  if (!isList(value)) return [String(value)]
  if (value.length === 0) {
    throw new TypeError(`${name}: an empty list matches nothing; leave the filter out, or do not search`)
  }
  // FHIR's own parameters stand as often as they have values.
  return name.startsWith('_') ? value.map(String) : [value.map(item => String(item).replaceAll(',', '\\,')).join(',')]
}

const isList = (value: unknown): value is readonly QueryValue[] => Array.isArray(value)
