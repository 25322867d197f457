import { request } from 'undici'

/**
 * A fetch for commands: a gateway may listen on a port that browsers, and with them Node's own fetch, refuse to call,
 * and a redirect is the response of another server, which is never followed.
 */
export async function fetchFromAnyPort (input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const sent = new Request(input, init)
  const body = await sent.text()
  const { statusCode: status, headers, body: received } = await request(sent.url, {
    method: sent.method as 'GET' | 'POST' | 'PATCH' | 'DELETE',
    headers: Object.fromEntries(sent.headers),
    ...body !== '' && { body },
    signal: sent.signal
  })
  const text = await received.text()
  return new Response(text === '' ? null : text, { status, headers: toHeaders(headers) })
}

/** The headers of a response that it has once. */
export function toHeaders (headers: Readonly<Record<string, string | string[] | undefined>>): Headers {
  return new Headers(Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
