import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'

/** The faults between the gateway and its datastore, by name; each gets a request and a function that forwards it. */
const faults = {
  none: pass => pass(),
  latency: pass => {
    setTimeout(pass, 700)
  },
  'reset before': (_, { request }) => {
    request.socket.destroy()
  },
  // The worst: the request was performed, and the client gets no response.
  'reset after': (pass, { request }) => pass(() => request.socket.destroy()),
  'half answers': (pass, { request, response }) =>
    pass((received, body) => {
      response.writeHead(received.statusCode, { ...received.headers, 'content-length': body.length + 1 })
      response.write(body.subarray(0, body.length / 2), () => request.socket.destroy())
    }),
  html: (_, { response }) => {
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html><body>Bad gateway at 10.1.2.3</body></html>')
  },
  'html as a success': (_, { response }) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Sign in</body></html>')
  },
  500: (_, { response }) => {
    response.writeHead(500, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"OperationOutcome"}')
  },
  503: (_, { response }) => {
    response.writeHead(503, { 'retry-after': '1' }).end()
  },
  429: (_, { response }) => {
    response.writeHead(429, { 'retry-after': '1' }).end()
  },
  'no JSON': (_, { response }) => {
    response.writeHead(200, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"Pat')
  }
}

/** The names of all faults. */
export const faultNames = Object.keys(faults).filter(name => name !== 'none')

/** A proxy in front of a datastore that forwards everything, except for the current fault. */
export async function startFaultProxy (targetOf) {
  let fault = faults.none
  const server = createServer(async (request, response) => {
    const chunks = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const pass = (
      onResponse = (received, body) => response.writeHead(received.statusCode, received.headers).end(body)
    ) =>
      passOn(targetOf(), { request, body: Buffer.concat(chunks) }).then(
        ([received, body]) => onResponse(received, body),
        () => request.socket.destroy()
      )
    fault(pass, { request, response })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    set: name => { fault = faults[name] },
    close: () => { server.close(); server.closeAllConnections() }
  }
}

/** Page links begin with the URL that was requested. */
function withOwnUrls (received, body, { from, to }) {
  const own = Buffer.from(body.toString().replaceAll(from, to))
  const { 'transfer-encoding': _, ...headers } = received.headers
  return [
    {
      statusCode: received.statusCode,
      headers: { ...headers, ...(headers['content-length'] !== undefined && { 'content-length': own.length }) }
    },
    own
  ]
}

function passOn (target, { request: { method, url, headers }, body }) {
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(
      new URL(url, target),
      { method, headers: { ...headers, host: new URL(target).host } },
      async received => {
        try {
          const chunks = []
          for await (const chunk of received) chunks.push(chunk)
          resolve(withOwnUrls(received, Buffer.concat(chunks), { from: new URL(target).origin, to: `http://${headers.host}` }))
        } catch (error) {
          reject(error)
        }
      }
    )
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
