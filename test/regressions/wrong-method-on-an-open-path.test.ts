import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { answersIn, exchangeRaw } from '../harness/raw-http.js'

// Where no key is needed, another method was answered as if the path were unknown, its media type wrong or a key
// missing.
t.test('a path that needs no key tells which methods it has, whatever the request holds', async t => {
  const { url } = await startGateway(t)
  const ask = async (method: string, path: string, ...more: string[]) =>
    answersIn(
      await exchangeRaw(
        url,
        [`${method} ${path} HTTP/1.1`, 'host: h', 'connection: close', ...more, '', ''].join('\r\n')
      )
    )[0]!
  for (const path of ['/health', '/openapi.json', '/v1/metadata']) {
    for (const [method, ...headers] of [
      ['TRACE'],
      ['QUERY'],
      ['DELETE'],
      ['OPTIONS'],
      ['POST', 'content-type: text/plain', 'content-length: 0'],
      ['PUT', 'content-type: nonsense']
    ] as const) {
      const {
        status,
        headers: { allow },
        body
      } = await ask(method, path, ...headers)
      t.strictSame([status, allow], [405, 'GET, HEAD'], `${method} ${path}`)
      t.match(body, { data: null, code: 'METHOD_NOT_ALLOWED', meta: { status: 405 } })
    }
  }
  t.equal((await ask('TRACE', '/nowhere')).status, 404)
  for (const path of ['/v1', '/v1/', '/v1/nowhere', '/v1/patients', '/v1/metadata/x']) {
    t.equal((await ask('TRACE', path)).status, 401, `${path} tells nothing without a key`)
  }
})
