/**
 * The token of an Authorization header (RFC 6750, section 2.1); undefined where there is none, or more than one header.
 * @param rawHeaders names and values by turns, as Node has them
 */
export function bearerToken (rawHeaders: readonly string[]): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization')
  return values.length === 1 ? /^Bearer ([\w-]{1,200})$/i.exec(values[0]!)?.[1] : undefined
}
