import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Spool } from '../../src/jobs/storage/files.js'
import { importer } from '../jobs/importing.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

// Only the number of an organization's jobs was bounded: what it sent, or exported, filled the disk that all
// organizations share.

const most = 2 ** 20
const line = '{"lastName":"Byron"}\n'
const linesOf = (bytes: number): string => line.repeat(Math.floor(bytes / line.length))

async function place (t: Test) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk: { organizationBytes: most } } })
  const { secret, tenantId } = await gateway.createKey()
  const spool = join(gateway.dataDirectory, 'bulk')
  const folders = () => readdirSync(spool).filter(name => name.startsWith('job-'))
  /** Another job of somebody, as another gateway at the same directory may have it. */
  const hold = async (bytes: number, of = tenantId) => {
    const { id, files } = await new Spool({ directory: spool, reserveBytes: 0 }).begin({ tenantId: of, mode: 'test' })
    const writer = await files.write('Patient.ndjson')
    await writer.write(Buffer.alloc(bytes))
    await writer.close()
    return id
  }
  return { gateway, client: importer(gateway, secret), folders, hold }
}

t.test(
  'an upload that is larger than what an organization may hold is refused while it comes, or before, and nothing of it stays',
  async t => {
    const { client, folders } = await place(t)
    const refused = { status: 413, body: { code: 'PAYLOAD_TOO_LARGE', message: /Import or export less at once/ } }
    t.match(await client.send(linesOf(most * 2), '?resourceType=patients'), refused, 'as its length says')
    t.match(
      await client.send(gzipSync(linesOf(most * 2)), '?resourceType=patients', { 'content-encoding': 'gzip' }),
      refused,
      'when it is more than its length says'
    )
    t.strictSame(folders(), [])
  }
)

t.test('an upload whose length nobody knows is refused before it has ended', async t => {
  const { gateway, client, folders } = await place(t)
  const status = await new Promise(resolve => {
    const sending = request(
      `${gateway.url}/v1/bulk/import?resourceType=patients`,
      { method: 'POST', headers: { 'x-api-key': client.secret, 'content-type': 'application/x-ndjson' } },
      answer => {
        resolve(answer.statusCode)
        sending.destroy()
      }
    )
    sending.on('error', () => {})
    sending.setTimeout(60_000, () => resolve('no answer'))
    sending.write(linesOf(most * 2))
  })
  t.equal(status, 413)
  await until(() => folders().length === 0)
  t.match(await client.get('/bulk/jobs'), { body: { data: { total: 0 } } })
})

t.test(
  'what other jobs of the organization hold counts, wherever they come from; that of other organizations does not',
  async t => {
    const { gateway, client, folders, hold } = await place(t)
    await hold(most, (await gateway.createKey()).tenantId)
    await hold(most / 2)
    const refused = await client.send(linesOf(most * 0.75), '?resourceType=patients')
    t.match(refused, { status: 429, body: { code: 'RATE_LIMITED', message: /DELETE \/v1\/bulk\/jobs\/<jobId>/ } })
    t.equal(folders().length, 2)
    t.match(await client.send(line, '?resourceType=patients'), { status: 202 })
  }
)

t.test('an export that would become larger than that ends as failed, and says why', async t => {
  const { client, hold } = await place(t)
  for (const name of ['Ada', 'Anne', 'Augusta']) {
    await client.run(
      Array.from({ length: 200 }, (_, at) => ({
        id: `${name}-${at}`,
        lastName: 'Byron',
        firstName: name.repeat(250)
      })),
      '?resourceType=patients'
    )
  }
  await hold(most / 4)
  const { body } = await client.post('/bulk/export', { resourceTypes: ['patients'] })
  t.match(await client.ended(body.data.jobId), {
    status: 'failed',
    failure: { code: 'RATE_LIMITED', message: /would take up more than 1048576 bytes/ }
  })
})

t.test('an import whose results would become larger than that ends as failed, and says why', async t => {
  const { client } = await place(t)
  const started = await client.send('0\n'.repeat(most / 4), '?resourceType=patients')
  t.equal(started.status, 202)
  const job = await client.ended(started.body.data.jobId)
  t.match(job, { status: 'failed', failure: { code: 'RATE_LIMITED' } })
})
