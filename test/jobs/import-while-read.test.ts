import { once, EventEmitter } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test, type Test } from 'tap'
import { draftsFile } from '../../src/jobs/import/import-context.js'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { startNativeScene, type NativeScene } from './native-importing.js'

/** Patients, each with an observation of it; the first observation is of another subject. */
const buildLines = (count: number, subjectOfFirst: string): unknown[] =>
  [...Array(count).keys()].map(at =>
    at % 2 === 0
      ? { resourceType: 'Patient', id: `p${at}`, name: [{ family: `N${at}` }] }
      : {
          resourceType: 'Observation',
          id: `o${at}`,
          status: 'final',
          code: { text: 'weight' },
          subject: { reference: at === 1 ? subjectOfFirst : `Patient/p${at - 1}` }
        }
  )

/** An import whose second half of the input is held back until it is released. */
async function startHeld (
  t: Test,
  input: readonly unknown[]
): Promise<{ readonly scene: NativeScene; readonly letGo: () => void }> {
  const sandbox = await startTestSandbox(t)
  const gate = new EventEmitter()
  const open = once(gate, 'open')
  async function * holdSecondHalf (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const all = await buffer(chunks)
    yield all.subarray(0, all.length / 2)
    await open
    yield all.subarray(all.length / 2)
  }
  const scene = await startNativeScene(t, {
    fhirUrl: sandbox.url,
    lines: input,
    isUsual: true,
    reading: holdSecondHalf
  })
  return {
    scene,
    letGo: () => {
      gate.emit('open')
    }
  }
}

test('lines whose references are known are written while others are still read', async t => {
  const { scene, letGo } = await startHeld(t, buildLines(4_000, 'Patient/p0'))
  const ended = scene.run()
  await waitUntil(() => scene.written() >= 1_000)
  t.equal(scene.readResults().length < 2_100, true, 'the second half is not read yet')
  letGo()
  t.equal(await ended, 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
  t.equal(scene.written(), 4_000, 'each once')
})

test('a line that refers to an unknown record waits until all are read', async t => {
  const { scene, letGo } = await startHeld(t, buildLines(4_000, 'Patient/p3998'))
  const ended = scene.run()
  await waitUntil(() => scene.written() >= 1_000)
  t.equal(scene.readResults()[1]!.status, 'pending')
  letGo()
  t.equal(await ended, 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
})

test('an import that is left while it reads and writes begins nothing more, and goes on where it was', async t => {
  const { scene, letGo } = await startHeld(t, buildLines(4_000, 'Patient/p3998'))
  const left = new AbortController()
  const first = scene.run(Infinity, left.signal)
  await waitUntil(() => scene.written() >= 600)
  left.abort(new Error('left'))
  letGo()
  await t.rejects(first, { message: 'left' })
  const before = scene.written()
  t.ok(before < 4_000)
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
  t.equal(await scene.countRecords('Observation'), 2_000)
})

// Lines that waited for other lines, for disk space or for a dead gateway were read, parsed and checked a second time.
test('an import that is interrupted again and again reads its input once, and leaves nothing of its lines behind', async t => {
  const sandbox = await startTestSandbox(t)
  let read = 0
  async function * countReads (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    read++
    yield * chunks
  }
  const input = buildLines(1_200, 'Patient/p1198').map(line => ({ ...(line as object), language: 'x-secretword' }))
  const scene = await startNativeScene(t, { fhirUrl: sandbox.url, lines: input, isUsual: true, reading: countReads })
  const folder = dirname(scene.files.path(indexFile))
  let sizes = 0
  for (let steps = 4; (await scene.run(steps)) === 'broken off'; steps++) {
    for (const name of readdirSync(folder)) {
      t.notOk(readFileSync(join(folder, name)).includes('x-secretword'), `${name} is sealed`)
    }
    sizes += statSync(scene.files.path(draftsFile)).size
  }
  t.ok(sizes > 100_000, 'drafts were there')
  t.equal(read, 1)
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
  t.strictSame(readdirSync(folder).filter(name => name.startsWith('drafts') || name.startsWith('input')), [])
})

test('drafts of lines that are written while others are read take up no more space than those under way', async t => {
  const { scene, letGo } = await startHeld(t, buildLines(6_000, 'Patient/p0'))
  letGo()
  let largest = 0
  const looking = setInterval(() => {
    largest = Math.max(largest, statSync(scene.files.path(draftsFile), { throwIfNoEntry: false })?.size ?? 0)
  }, 20)
  t.after(() => clearInterval(looking))
  t.equal(await scene.run(), 'ended')
  const all = 6_000 * 300
  t.ok(largest > 0 && largest < all / 2, `${largest} bytes`)
})
