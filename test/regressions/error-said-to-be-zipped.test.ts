import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { importer } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'

t.test('where the results of an import can\'t be read, a client that takes gzip can read the error', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await importer(gateway, secret).run([{ resourceType: 'Patient' }])
  const index = new Database(join(gateway.dataDirectory, 'bulk', job.id, 'index.db'))
  index.exec('UPDATE lines SET result = x\'00\'')
  index.close()
  for (const encoding of ['identity', 'gzip']) {
    const response = await fetch(`${gateway.url}/v1/bulk/jobs/${job.id}/results`, {
      headers: { 'x-api-key': secret, 'accept-encoding': encoding }
    })
    t.strictSame(
      [response.status, response.headers.get('content-encoding'), response.headers.get('content-disposition')],
      [500, null, null],
      encoding
    )
    t.match(await response.json(), { code: 'INTERNAL_ERROR' })
  }
})
