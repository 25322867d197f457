import t from 'tap'
import { run } from '../../src/operator/cli/run.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

t.test('a key that was sent as nothing is one that was not sent', async t => {
  const { inject } = await startGateway(t)
  for (const key of ['', ' ']) {
    t.match((await inject({ url: '/v1/patients', headers: { 'x-api-key': key } })).json(), { code: 'UNAUTHORIZED' })
  }
})

t.test('the methods that raw FHIR allows have HEAD among them wherever it is answered', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const allowOf = async (method: 'PUT' | 'POST' | 'DELETE', path: string) =>
    (await gateway.inject({ method, url: `/v1/fhir/${path}`, headers: { 'x-api-key': secret } })).headers.allow
  t.equal(await allowOf('DELETE', 'Patient/x/_history'), 'GET, HEAD')
  t.equal(await allowOf('POST', 'Patient/x'), 'GET, HEAD, PUT, PATCH, DELETE')
  t.equal(await allowOf('PUT', '$export'), 'GET, POST', 'which a HEAD would begin')
})

t.test('a question for another statement is not answered with this one', async t => {
  const { inject } = await startGateway(t)
  t.match(
    [
      (await inject('/v1/fhir/metadata?mode=terminology')).statusCode,
      (await inject('/v1/fhir/metadata?mode=full')).statusCode
    ],
    [400, 200]
  )
})

t.test('a gateway tells its control plane of its bulk jobs as it tells its health', async t => {
  const gateway = await startGateway(t)
  await until(async () => (await gateway.control.gateways.list()).some(({ checks }) => checks.bulk === 'ok'))
  t.match((await gateway.inject('/health')).json().data.checks, { bulk: { status: 'ok' } })
})

t.test('a command tells its version and times as they are written', async t => {
  const said = async (...args: string[]) => {
    const out: string[] = []
    const print = (text: string): void => { out.push(text) }
    const code = await run(args, {
      environment: {},
      user: 'ann',
      now: () => new Date(),
      out: print,
      err: print,
      streams: process
    })
    return { code, text: out.join('') }
  }
  t.match(await said('--version'), { code: 0, text: /^\d+\.\d+\.\d+/ })
  t.match(await said('keys', 'roll', '--help'), { code: 0, text: /\(default: 1h\)/ })
})
