import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { importer } from '../jobs/importing.js'

test('HEAD says of the results of an import what GET would, without them', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await importer(gateway, secret).run([{ resourceType: 'Patient' }])
  const ask = (method: 'GET' | 'HEAD', encoding: string) =>
    gateway.inject({
      method,
      url: `/v1/bulk/jobs/${job.id}/results`,
      headers: { 'x-api-key': secret, 'accept-encoding': encoding }
    })
  for (const encoding of ['identity', 'gzip']) {
    const [get, head] = [await ask('GET', encoding), await ask('HEAD', encoding)]
    t.equal(head.statusCode, 200)
    t.equal(head.body, '')
    for (const name of ['content-type', 'content-encoding', 'content-disposition', 'vary']) {
      t.equal(head.headers[name], get.headers[name], name)
    }
  }
})
