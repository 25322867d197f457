import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { splitLines } from '../../src/jobs/import/lines.js'
import { startGateway } from '../harness/gateway.js'
import { createImporter } from './importing.js'

const mebibyte = 1024 * 1024
const max = 16 * mebibyte

/** A valid line, one of 50 MB, and a valid one. */
async function * generateInput (each = () => {}): AsyncGenerator<Buffer> {
  yield Buffer.from('{"resourceType":"Patient","id":"before"}\n{"resourceType":"Patient","name":[{"family":"')
  for (let done = 0; done < 50; done++) {
    yield Buffer.alloc(mebibyte, 'x')
    each()
  }
  yield Buffer.from('"}]}\n{"resourceType":"Patient","id":"after"}\n')
}

// First, before anything else holds memory.
test('of a line that is too long, no more is held in memory than the maximum', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().arrayBuffers
  let maxHeld = 0
  const measure = (): void => {
    collect()
    maxHeld = Math.max(maxHeld, process.memoryUsage().arrayBuffers - before)
  }
  const lines = []
  for await (const some of splitLines(generateInput(measure), { line: 1, at: 0 }, max)) lines.push(...some)
  t.same(
    lines.map(({ bytes, content }) => [bytes > max, content === undefined]),
    [
      [false, false],
      [true, true],
      [false, false]
    ]
  )
  t.ok(maxHeld >= max / 2, 'the measure sees what is held')
  t.ok(maxHeld <= max + 4 * mebibyte, `held ${maxHeld} bytes`)
})

test('a line of 50 MB fails with the maximum length, and those around it are stored', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const response = await fetch(`${gateway.url}/v1/bulk/import`, {
    method: 'POST',
    body: generateInput() as never,
    duplex: 'half',
    headers: { 'x-api-key': secret, 'content-type': 'application/x-ndjson' }
  } as RequestInit)
  t.equal(response.status, 202)
  const client = createImporter(gateway, secret)
  const job = await client.waitForEnd((await response.json() as { data: { jobId: string } }).data.jobId)
  t.match(job, { status: 'completed', totalRecords: 3, processedRecords: 3, failedRecords: 1 })
  const results = await client.fetchResults(job.id)
  t.match(results, [
    { line: 1, status: 'created' },
    { line: 2, status: 'failed', code: 'PAYLOAD_TOO_LARGE', message: `A line can have at most ${max} bytes.` },
    { line: 3, status: 'created' }
  ])
})
