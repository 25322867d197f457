import { gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import accepts from '@fastify/accepts'
import t from 'tap'
import { describeRoute } from '../../src/envelope/openapi-responses.js'
import { mappings } from '../../src/mappings/registry.js'
import { buildOpenApiDocument } from '../../src/api/openapi/document.js'
import { describeRoutes } from '../../src/bootstrap/describe-routes.js'
import { documentation } from '../../src/api/openapi/routes.js'
import { offersAll } from '../../src/tenant-guard/capabilities.js'
import { startGateway } from '../harness/gateway.js'

t.test('the document is built when it is first requested, and once', async t => {
  let made = 0
  const app = fastify()
  t.after(() => app.close())
  await app.register(accepts)
  await app.register(documentation, {
    document: () => ({ made: ++made }),
    offered: async () => offersAll
  })
  await app.ready()
  t.equal(made, 0, 'a start does not pay for it')
  await Promise.all(
    ['/openapi.json', '/docs/json', '/openapi.json'].map(async url =>
      t.same((await app.inject(url)).json(), { made: 1 })
    )
  )
})

t.test('the document is compressed for clients that accept it, and not sent again to those that have it', async t => {
  const { inject } = await startGateway(t)
  const plain = await inject('/openapi.json')
  t.equal(plain.headers['content-encoding'], undefined)
  t.equal(plain.headers['content-type'], 'application/json; charset=utf-8')
  const zipped = await inject({ url: '/openapi.json', headers: { 'accept-encoding': 'br, gzip' } })
  t.equal(zipped.headers['content-encoding'], 'gzip')
  t.equal(gunzipSync(zipped.rawPayload).toString(), plain.body)
  t.equal((await inject({ url: '/openapi.json', headers: { 'accept-encoding': 'gzip;q=0' } })).body, plain.body)
  const again = await inject({ url: '/openapi.json', headers: { 'if-none-match': String(plain.headers.etag) } })
  t.strictSame([again.statusCode, again.body], [304, ''])
  t.ok(plain.rawPayload.length < 23_000 * mappings.length, `${plain.rawPayload.length} bytes`)
  t.ok(zipped.rawPayload.length < 2_000 * mappings.length, `${zipped.rawPayload.length} bytes compressed`)
})

t.test('the document is built within a second', async t => {
  const described = await describeRoutes()
  const before = process.cpuUsage()
  buildOpenApiDocument(mappings, { version: '1', url: '/', described })
  const ms = process.cpuUsage(before).user / 1_000
  t.ok(ms < 1_000, `${ms} ms`)
})

t.test('the pages may load nothing from elsewhere, and no request makes the gateway write YAML', async t => {
  const { inject } = await startGateway(t)
  const page = await inject('/docs')
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, "default-src 'none'")
  t.notMatch(policy, /https?:|\*|unsafe-eval|upgrade-insecure|script-src[^;]*unsafe/)
  t.notMatch(page.body, /(?:src|href)="(?:https?:)?\/\//)
  t.match((await inject('/docs/yaml')).json(), { data: null, code: 'NOT_FOUND', meta: { status: 404 } })
})

t.test('a running gateway describes its routes the same as without one', async t => {
  const { inject } = await startGateway(t, { config: { events: { enabled: true } } })
  const { paths, components } = (await inject('/openapi.json')).json()
  const described = await describeRoutes({ hasEvents: true })
  t.ok(Object.keys(described.paths).length > 15)
  for (const [path, operations] of Object.entries(described.paths)) t.strictSame(paths[path], operations, path)
  for (const [name, schema] of Object.entries(described.schemas)) t.strictSame(components.schemas[name], schema, name)
})

t.test('the description of a route neither validates a request nor leaves out members of its response', async t => {
  const app = fastify()
  t.after(() => app.close())
  const number = { type: 'integer', minimum: 5 }
  const { schema, ...options } = describeRoute({
    operationId: 'tryOut',
    tags: ['service'],
    summary: 'Try out',
    path: { id: number },
    query: { count: number },
    headers: { 'X-Number': number },
    body: { 'application/json': { schema: { type: 'object', properties: { n: number }, required: ['n'] } } },
    responses: { 200: { description: 'All.', content: { 'application/json': { schema: { type: 'object' } } } } }
  })
  app.post('/:id', { schema, ...options }, async ({ params, query, body }) => ({ params, query, body }))
  const response = await app.inject({
    method: 'POST', url: '/one?count=many', headers: { 'x-number': 'none' }, payload: { other: true }
  })
  t.strictSame(response.json(), { params: { id: 'one' }, query: { count: 'many' }, body: { other: true } })
})
