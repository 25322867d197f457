import { Failure } from './failures.js'

/**
 * The values of a header, one for each time that it was sent. Node's `headers` joins them with commas, which can be
 * part of a value.
 * @param rawHeaders alternating names and values, like Node's `rawHeaders`
 */
export function getHeaderValues (rawHeaders: readonly string[], name: string): readonly string[] {
  const wanted = name.toLowerCase()
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!
    if (sent.length === wanted.length && sent.toLowerCase() === wanted) values.push(rawHeaders[i + 1]!)
  }
  return values
}

/**
 * The value of a header that must be sent once, in printable ASCII. Undefined if it was not sent. Node decodes other
 * bytes as Latin-1, while clients mean UTF-8.
 * @param rawHeaders as in {@link getHeaderValues}
 * @throws {Failure} BAD_REQUEST
 */
export function readSingleHeader (rawHeaders: readonly string[], name: string): string | undefined {
  const values = getHeaderValues(rawHeaders, name)
  if (values.length > 1) throw new Failure('BAD_REQUEST', { message: `${name}: send the header once.` })
  const [value] = values
  if (value !== undefined && !/^[ -~]*$/.test(value)) {
    throw new Failure('BAD_REQUEST', {
      message: `${name}: expected printable ASCII characters; percent-encode others as UTF-8.`
    })
  }
  return value
}

/**
 * The bearer token in the Authorization header (RFC 6750, section 2.1). Undefined if there is none, or more than one
 * header.
 * @param rawHeaders as in {@link getHeaderValues}
 */
export function parseBearerToken (rawHeaders: readonly string[]): string | undefined {
  const values = getHeaderValues(rawHeaders, 'authorization')
  return values.length === 1 ? /^Bearer ([\w-]{1,200})$/i.exec(values[0]!)?.[1] : undefined
}
