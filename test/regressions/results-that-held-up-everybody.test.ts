import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { test, type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { importer } from '../jobs/importing.js'

async function imported (t: Test, lines: number) {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await importer(gateway, secret).run(
    Array.from({ length: lines }, () => ({ resourceType: 'Patient', gender: 'female' })),
    '?dryRun=true'
  )
  const results = async () =>
    await gateway.inject({ url: `/v1/bulk/jobs/${job.id}/results`, headers: { 'x-api-key': secret } })
  return { results, index: join(gateway.dataDirectory, 'bulk', job.id, 'index.db') }
}

// All results were read in one turn as fast as the client took them, and every other request waited.
test('others have their turn while the results of an import are read', async t => {
  const { results } = await imported(t, 3_000)
  let turns = 0
  const turn = () => { turns++; next = setImmediate(turn) }
  let next = setImmediate(turn)
  const { statusCode, body } = await results()
  clearImmediate(next)
  t.equal(statusCode, 200)
  t.equal(body.split('\n').length - 1, 3_000)
  t.ok(turns >= 15, `${turns} turns`)
})

// SQLite waited for the end of a write that could only end on the same thread: two seconds in which nothing else was
// done, and then the results were cut off.
test('results are whole though the import is being written, and nobody waits for them', async t => {
  const { results, index } = await imported(t, 1_000)
  const writer = new SQLite(index)
  writer.exec('BEGIN EXCLUSIVE')
  setTimeout(() => { writer.exec('COMMIT'); writer.close() }, 200)
  const { statusCode, body } = await results()
  t.equal(statusCode, 200)
  t.equal(body.split('\n').length - 1, 1_000)
  t.notOk(writer.open, 'the writer ended first')
})
