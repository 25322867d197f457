import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { importer } from '../jobs/importing.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

// What was sent to an import that failed, or that was cancelled before its turn, lay on the disk until the job was
// deleted. The guide says that it goes with the import's end.

async function place (t: Test, bulk: Readonly<Record<string, unknown>> = {}) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk } })
  const { secret } = await gateway.createKey()
  const client = importer(gateway, secret)
  const filesOf = (id: string) =>
    readdirSync(join(gateway.dataDirectory, 'bulk', id))
      .filter(name => !name.startsWith('.'))
      .toSorted()
  const send = async (lines: string): Promise<string> =>
    (await client.send(lines, '?resourceType=patients')).body.data.jobId
  const cancel = async (id: string) =>
    await fetch(`${gateway.url}/v1/bulk/jobs/${id}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  return { client, filesOf, send, cancel }
}

const lines = '{"lastName":"Byron"}\n'.repeat(20_000)

t.test(
  'what was sent to an import that is cancelled before its turn goes at once, and each line keeps its result',
  async t => {
    const { client, filesOf, send, cancel } = await place(t, { jobsAtOnce: 1, jobsPerOrganization: 1 })
    const first = await send(lines)
    const waiting = await send('{"lastName":"Byron"}\n'.repeat(3))
    t.match(await client.get(`/bulk/jobs/${waiting}`), { body: { data: { status: 'pending' } } })
    t.strictSame(filesOf(waiting), ['input', 'input.pieces'])
    t.equal((await cancel(waiting)).status, 200)
    t.strictSame(filesOf(waiting), [])
    t.strictSame(
      await client.results(waiting),
      [1, 2, 3].map(line => ({ line, status: 'pending' }))
    )
    await cancel(first)
    await until(() => filesOf(first).every(name => name.startsWith('index.db')))
  }
)

t.test('what was sent to an import that fails goes with it, and its results stay', async t => {
  const { client, filesOf, send } = await place(t, { organizationBytes: 2 ** 20 })
  const id = await send('0\n'.repeat(2 ** 18))
  t.match(await client.ended(id), { status: 'failed' })
  await until(() => filesOf(id).every(name => name.startsWith('index.db')))
  t.match((await client.results(id))[0], { line: 1, status: 'failed' })
})
