import { connect } from 'node:net'

/** A response as it came over the wire, without any client in between. */
interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: unknown
}

/** Writes bytes to a server on loopback and reads until it closes the connection; half a head counts as none. */
export function exchangeRaw (url: string, ...writes: ReadonlyArray<string | Buffer>): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.setTimeout(60_000, () => socket.destroy(new Error('the server neither answered nor closed')))
    socket.on('data', chunk => chunks.push(chunk))
    // A server that has seen enough may reset the connection after its response.
    socket.on(
      'error',
      (error: NodeJS.ErrnoException) => ['ECONNRESET', 'EPIPE'].includes(error.code ?? '') || reject(error)
    )
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    for (const bytes of writes) socket.write(bytes)
  })
}

/** All responses in the text that a server wrote; their bodies have a Content-Length. */
export function parseResponses (text: string): RawResponse[] {
  const responses: RawResponse[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error('a response without the end of its head')
    const [first, ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    )
    const body = Buffer.from(rest.slice(end + 4)).subarray(0, Number(headers['content-length'] ?? 0)).toString()
    responses.push({
      status: Number(first!.split(' ')[1]),
      headers,
      text: body,
      body: body !== '' && /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : undefined
    })
    rest = rest.slice(end + 4 + body.length)
  }
  return responses
}
