import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type Test } from 'tap'
import { isTracingEnabled } from '../../src/observability/tracing.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<{ readonly key: string }>
}

/** A collector on loopback that stores the requests it received. */
async function startCollector (
  t: Test
): Promise<{ readonly url: string; readonly bodies: string[]; readonly spans: () => Span[] }> {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await text(request))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const spans = () =>
    bodies.flatMap(body =>
      JSON.parse(body).resourceSpans.flatMap((one: any) => one.scopeSpans.flatMap((scope: any) => scope.spans))
    )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, spans }
}

test('a trace goes from the client through the gateway to the datastore, by the pattern of the route, without any content of the request', async t => {
  const collector = await startCollector(t)
  const before = { ...process.env }
  // The exporter reads them by itself.
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  t.after(() => {
    process.env = before
  })
  const datastore = await startFaultyServer()
  t.after(() => datastore.close())
  datastore.answerProbes()
  const gateway = await startGateway(t, {
    fhirUrl: datastore.url,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  })
  const client = await createGatewayClient(gateway)
  datastore.behave(
    sendJson(200, {
      resourceType: 'Patient',
      id: 'secret-id',
      meta: { versionId: '1', tag: [{ system: 'urn:clinigate:tenant', code: client.tenantId }] }
    })
  )
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = {
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    baggage: 'patient=Byron',
    tracestate: 'vendor=Byron'
  }
  const { status } = await client.send('GET', 'patients/secret-id', undefined, headers)
  t.equal(status, 200)
  datastore.behave(sendJson(500, {}))
  await client.send('GET', 'patients?lastName=Byron', undefined, headers)
  await gateway.inject({ url: '/v1/Byron', headers })
  const [requested] = datastore.seen
  t.match(requested!.headers.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  t.same([requested!.headers.baggage, requested!.headers.tracestate], [undefined, undefined])
  await gateway.close()
  const spans = collector.spans()
  const request = spans.find(({ name }) => name === 'GET /v1/patients/:id')
  const exchange = spans.find(
    ({ name, spanId }) => name === 'GET test' && requested!.headers.traceparent!.includes(spanId)
  )
  t.equal(request?.traceId, traceId)
  t.equal(exchange?.traceId, traceId)
  t.ok(
    spans.some(({ name }) => name === 'GET none'),
    'a path that leads nowhere is not named'
  )
  t.same([...new Set(spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)))].sort(), [
    'clinigate.datastore',
    'error.type',
    'http.request.method',
    'http.response.status_code',
    'http.route'
  ])
  t.notMatch(collector.bodies.join(''), /secret-id|byron|svc_test/i)
})

test('without the variables of OpenTelemetry nothing is traced, and no trace header is sent to a datastore', async t => {
  const datastore = await startFaultyServer()
  t.after(() => datastore.close())
  datastore.answerProbes()
  const client = await createGatewayClient(await startGateway(t, { fhirUrl: datastore.url }))
  await client.send('GET', 'patients/1', undefined, {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  })
  t.equal(datastore.seen[0]!.headers.traceparent, undefined)
})

test('a configured collector switches tracing on, unless it is disabled', async t => {
  t.ok(isTracingEnabled({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }))
  t.ok(isTracingEnabled({ OTEL_TRACES_EXPORTER: 'otlp' }))
  t.notOk(isTracingEnabled({}))
  t.notOk(isTracingEnabled({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' }))
  t.notOk(isTracingEnabled({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_TRACES_EXPORTER: 'none' }))
})
