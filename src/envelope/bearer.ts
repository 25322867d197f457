/**
 * The bearer token in the Authorization header (RFC 6750, section 2.1). Undefined if there is none, or more than one
 * header.
 * @param rawHeaders alternating names and values, like Node's `rawHeaders`
 */
export function bearerToken (rawHeaders: readonly string[]): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization')
  return values.length === 1 ? /^Bearer ([\w-]{1,200})$/i.exec(values[0]!)?.[1] : undefined
}
