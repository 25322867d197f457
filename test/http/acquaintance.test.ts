import t from 'tap'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { logCapabilities } from '../../src/bootstrap/capabilities.js'
import { startTestSandbox } from '../harness/sandbox.js'

/** A log whose next line can be waited for. */
function watchedLog () {
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

t.test('the log tells what a datastore says it can do, and warns of another version of FHIR', async t => {
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
    const { log, lines, line } = watchedLog()
    const backend = new HttpBackend({ name: 'live', baseUrl })
    const looking = logCapabilities([backend], log)
    await line()
    await looking.close()
    await backend.close()
    t.match(lines, [expected])
  }
})

t.test('a datastore that is down, or never answers, keeps nobody from ending', async t => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => { silent.closeAllConnections(); silent.close() })
  const { log, lines } = watchedLog()
  const requested = once(silent, 'request')
  const backends = [
    new HttpBackend({ name: 'down', baseUrl: 'http://127.0.0.1:1/fhir' }),
    new HttpBackend({ name: 'silent', baseUrl: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/fhir` })
  ]
  const looking = logCapabilities(backends, log)
  await requested
  await looking.close()
  t.strictSame(lines, [])
  silent.closeAllConnections()
  await Promise.all(backends.map(backend => backend.close()))
})
