import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { startNativeScene } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

const mebibyte = 1024 * 1024

// Lines were put into the index two hundred at a time however long they were, and until then all that was made of them
// was in memory.
test('an import of long lines holds no more of them than go into one transaction', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const line = {
    resourceType: 'Patient',
    contact: Array.from({ length: 22_000 }, (_, at) => ({ name: { text: `Contact ${at}` } }))
  }
  let most = 0
  async function * reading (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    collect()
    const before = process.memoryUsage().heapUsed
    let read = 0
    for await (const chunk of chunks) {
      yield chunk
      read += chunk.length
      if (read < mebibyte) continue
      read = 0
      collect()
      most = Math.max(most, process.memoryUsage().heapUsed - before)
    }
  }
  const sandbox = await startTestSandbox(t)
  const scene = await startNativeScene(t, { fhirUrl: sandbox.url, lines: Array(30).fill(line), isUsual: true, reading })
  t.equal(await scene.run(), 'ended')
  t.ok(scene.results().every(({ status }) => status === 'created'))
  t.ok(most > mebibyte, 'the measure sees what is held')
  t.ok(most < 40 * mebibyte, `held ${Math.round(most / mebibyte)} MiB`)
})
