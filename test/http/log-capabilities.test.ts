import t from 'tap'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { logCapabilities } from '../../src/bootstrap/capabilities.js'
import { startTestSandbox } from '../harness/sandbox.js'

/** A log whose next line a test can await. */
function createWatchedLog () {
  const lines: any[] = []
  const sink = new Writable({
    write (chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      sink.emit('line')
      done()
    }
  })
  return {
    log: pino({ level: 'info' }, sink),
    lines,
    line: async () => {
      if (lines.length === 0) await once(sink, 'line')
    }
  }
}

/** Collects the log lines about the datastore at a URL, until there is one. */
async function collectLogLines (baseUrl: string) {
  const { log, lines, line } = createWatchedLog()
  const backend = new HttpBackend({ name: 'live', baseUrl })
  const looking = logCapabilities([backend], log)
  await line()
  await looking.close()
  await backend.close()
  return lines
}

t.test('the log reports the capabilities of a datastore, and warns of another version of FHIR', async t => {
  const sandbox = await startTestSandbox(t)
  const newer = createServer((_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/fhir+json' })
      .end('{"resourceType":"CapabilityStatement","fhirVersion":"5.0.0","rest":[]}')
  ).listen(0, '127.0.0.1')
  await once(newer, 'listening')
  t.after(() => newer.close())
  for (const [baseUrl, expected] of [
    [
      sandbox.url,
      { level: 30, datastore: 'live', software: 'clinigate sandbox', fhirVersion: '4.0.1', hasExport: false }
    ],
    [
      `http://127.0.0.1:${(newer.address() as AddressInfo).port}/fhir`,
      { level: 40, datastore: 'live', fhirVersion: '5.0.0', msg: /run clinigate doctor/ }
    ]
  ] as const) {
    t.match(await collectLogLines(baseUrl), [expected])
  }
})

t.test('a datastore that is down, or never responds, does not delay closing', async t => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => { silent.closeAllConnections(); silent.close() })
  const { log, lines } = createWatchedLog()
  const requested = once(silent, 'request')
  const backends = [
    new HttpBackend({ name: 'down', baseUrl: 'http://127.0.0.1:1/fhir' }),
    new HttpBackend({ name: 'silent', baseUrl: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/fhir` })
  ]
  const looking = logCapabilities(backends, log)
  await requested
  await looking.close()
  t.match(lines, [{ level: 40, datastore: 'down', reason: 'nothing listens at its address' }])
  silent.closeAllConnections()
  await Promise.all(backends.map(backend => backend.close()))
})

// The log was silent, and /health only reported that it was degraded.
t.test('the log names at the start the setting of a datastore that is to be checked', async t => {
  const web = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in')
  ).listen(0, '127.0.0.1')
  const locked = createServer((_, response) => response.writeHead(401).end()).listen(0, '127.0.0.1')
  await Promise.all([once(web, 'listening'), once(locked, 'listening')])
  t.after(() => { web.close(); locked.close() })
  const toFhirUrl = (server: typeof web) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`
  for (const [baseUrl, reason, remedy] of [
    ['http://nowhere.invalid/fhir', /host name is unknown/, /host in datastores\.<name>\.url \(FHIR_TEST_URL/],
    [toFhirUrl(web), /not that of a FHIR server \(status 200\)/, /base URL of a FHIR R4 server/],
    [toFhirUrl(locked), /rejected the gateway's credential/, /datastores\.<name>\.auth/]
  ] as const) {
    t.match(await collectLogLines(baseUrl), [{ level: 40, datastore: 'live', reason, remedy, msg: /cannot be used; clinigate doctor/ }])
  }
})
