import t from 'tap'
import { startGateway } from '../harness/gateway.js'

t.test('a key that was sent with quotes, with Bearer or twice is rejected with that mistake', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const errors: Array<[string | string[], RegExp]> = [
    [`"${secret}"`, /without quotation marks/],
    [`'${secret}'`, /without quotation marks/],
    [`\`${secret}`, /without quotation marks/],
    [`Bearer ${secret}`, /without Bearer/],
    [`bearer ${secret}`, /without Bearer/],
    [`ApiKey ${secret}`, /without Bearer/],
    [`"Bearer ${secret}"`, /without quotation marks/],
    [secret.slice(1), /complete key/],
    [`cg_control_${'a'.repeat(49)}`, /svc_test_/]
  ]
  for (const [key, message] of errors) {
    const refused = await inject({ url: '/v1/patients', headers: { 'x-api-key': key } })
    t.equal(refused.statusCode, 401)
    t.equal(refused.json().code, 'INVALID_KEY_FORMAT')
    t.match(refused.json().message, message)
    t.notOk(refused.body.includes(secret.slice(9)))
  }
})
