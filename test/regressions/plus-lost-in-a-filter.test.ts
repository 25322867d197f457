import t from 'tap'
import { startGateway } from '../harness/gateway.js'

// A client that did not encode the plus sign was told to send a time with its zone, which it had.
t.test('a time whose plus sign became a space is answered with how to write it', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const ask = async (time: string) =>
    (
      await gateway.inject({
        method: 'GET',
        url: `/v1/observations?dateFrom=${time}`,
        headers: { 'x-api-key': secret }
      })
    ).json()
  t.match(await ask('2026-03-14T09:30:00+02:00'), { code: 'BAD_REQUEST', message: /%2B/ })
  t.match(await ask('2026-03-14T09:30+02:00'), { code: 'BAD_REQUEST', message: /%2B/ })
  t.notMatch((await ask('yesterday')).message, /%2B/)
  t.match(await ask('2026-03-14T09:30:00%2B02:00'), { data: [] })
})
