import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { answersIn, exchangeRaw } from '../harness/raw-http.js'

// Node answered 417 by itself: no envelope, no request id, no line in the log, and nobody was asked for a key.
test('an expectation that nobody knows is passed over, and the request goes its way', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const get = async (path: string, ...headers: readonly string[]) => {
    const [answer] = answersIn(
      await exchangeRaw(
        url,
        [
          `GET ${path} HTTP/1.1`,
          'host: gateway.test',
          'connection: close',
          'expect: miracles',
          ...headers,
          '',
          ''
        ].join('\r\n')
      )
    )
    return { status: answer!.status, body: JSON.parse(answer!.text) }
  }
  t.match(await get('/v1/patients'), { status: 401, body: { code: 'UNAUTHORIZED', meta: { status: 401 } } })
  t.match(await get('/v1/fhir/Patient'), { status: 401, body: { resourceType: 'OperationOutcome' } })
  t.match(await get('/v1/patients', `x-api-key: ${secret}`), { status: 200, body: { data: { total: 0 } } })
})
