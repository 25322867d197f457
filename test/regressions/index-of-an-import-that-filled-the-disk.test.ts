import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { IndexFile } from '../../src/jobs/import/index-file.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { diskFull } from '../../src/jobs/storage/storage-errors.js'
import { startNativeScene, type NativeSceneSettings } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

// Only files of the spool were held to bulk.reserveBytes, not the database beside them.

const isWaiting = { code: 'BACKEND_UNAVAILABLE', message: /no disk space for bulk jobs/ }

const observation = {
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'weight' },
  subject: { reference: 'Patient/last' }
}
const outOfOrder = [...Array(1_500).fill(observation), { resourceType: 'Patient', id: 'last' }]

/** An import for which there is no room as long as something is so. */
async function startScene (t: Test, isFull: () => boolean, settings: Partial<NativeSceneSettings> = {}) {
  const sandbox = await startTestSandbox(t)
  return await startNativeScene(t, {
    fhirUrl: sandbox.url,
    isUsual: true,
    lines: outOfOrder,
    requireRoom: async () => {
      if (isFull()) throw diskFull(undefined)
    },
    ...settings
  })
}

t.test('what a database may grow by is what any file of the job may', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const { files } = await new Spool({ directory, reserveBytes: 0 }).begin()
  await t.resolves(files.requireRoom())
  const { files: without } = await new Spool({ directory, reserveBytes: 2 ** 60 }).begin()
  await t.rejects(without.requireRoom(), isWaiting)
})

t.test('an import without room reads no more than a part, and goes on when there is room', async t => {
  let isFull = true
  const scene = await startScene(t, () => isFull)
  await t.rejects(scene.run(), isWaiting)
  t.equal(scene.results().length, 0)
  isFull = false
  t.equal(await scene.run(), 'ended')
  t.ok(scene.results().every(({ status }) => status === 'created'))
  t.equal(scene.written(), outOfOrder.length, 'each line once')
})

for (const step of ['link', 'order', 'orderAsRead'] as const) {
  t.test(
    `an import that runs out of room with a step of its order (${step}) does no further one, and goes on when there is room`,
    async t => {
      const before = IndexFile.prototype[step] as (...args: unknown[]) => unknown
      t.after(() => {
        Object.assign(IndexFile.prototype, { [step]: before })
      })
      let done = 0
      let isFull = false
      Object.assign(IndexFile.prototype, {
        [step]: function (this: IndexFile, ...args: unknown[]) {
          isFull = ++done === 1
          return before.apply(this, args)
        }
      })
      const lines =
        step === 'orderAsRead'
          ? [
              ...Array(1_500).fill({ resourceType: 'Patient' }),
              { resourceType: 'Observation', subject: { reference: 'Patient/nobody' } }
            ]
          : outOfOrder
      const scene = await startScene(t, () => isFull, { lines, dryRun: true })
      await t.rejects(scene.run(), isWaiting)
      t.equal(done, 1)
      isFull = false
      t.equal(await scene.run(), 'ended')
      t.ok(scene.results().every(({ status }, at) => status === 'valid' || lines[at] !== observation))
    }
  )
}

t.test('an import that runs out of room while it writes leaves when it tells how far it is', async t => {
  let isFull = false
  const scene = await startScene(t, () => isFull, {
    lines: [{ resourceType: 'Patient' }, { resourceType: 'Patient' }],
    reading: async function * (chunks) {
      yield * chunks
      isFull = true
      // Longer than until it is told the next time, however busy the machine is.
      for (let waited = 0; waited < 50; waited++) await pause(100)
    }
  })
  await t.rejects(scene.run(), isWaiting)
})
