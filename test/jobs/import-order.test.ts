import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { IndexFile } from '../../src/jobs/import/index-file.js'
import { TooDeep, sortTopologically } from '../../src/jobs/import/order-lines.js'
import { maxBytes, maxReferences } from '../../src/jobs/import/pace.js'
import { ResultCipher } from '../../src/jobs/import/result.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { type NativeScene, type NativeSceneSettings, startNativeScene } from './native-importing.js'

// Lines that refer to each other in a cycle are written in one transaction. Their number was bounded, but not their
// length: 500 lines of 10 MB would have been in memory together.

async function startScene (t: Test, lines: readonly unknown[]): Promise<NativeScene> {
  const { url } = await startTestSandbox(t)
  return await startNativeScene(t, { fhirUrl: url, isUsual: true, lines })
}

/** Patients each of whom refers to the next, the last one to the first, with so many characters of names in total. */
const buildCycle = (name: string, count: number, characters: number): unknown[] => [...Array(count).keys()].map(at => ({
  resourceType: 'Patient',
  id: `${name}${at}`,
  name: [{ family: 'x'.repeat(characters / count) }],
  link: [{ other: { reference: `Patient/${name}${(at + 1) % count}` }, type: 'seealso' }]
}))

t.test(
  'lines of a cycle that are too long together fail with the maximum length; nothing of them is read again',
  async t => {
    const scene = await startScene(t, [...buildCycle('long', 4, maxBytes), { resourceType: 'Patient', id: 'after' }])
    t.equal(await scene.run(), 'ended')
    t.match(scene.readResults(), [
      ...Array(4).fill({
        status: 'failed',
        code: 'VALIDATION_ERROR',
        message: `The line is part of a reference cycle whose lines together have more than ${maxBytes} bytes. Send smaller records, or remove some of the references.`
      }),
      { status: 'created' }
    ])
    t.equal(scene.written(), 1)
  }
)

t.test('lines of a cycle that are as long as a transaction are stored', async t => {
  const scene = await startScene(t, buildCycle('fit', 4, maxBytes - 1_000))
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
})

// Positions were written to the disk in the middle of a batched query, so that the query failed: "no such savepoint".
t.test('an import of thousands of lines that refer to a later one is ordered', async t => {
  const sandbox = await startTestSandbox(t)
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: 'Patient/last' }
  }
  const scene = await startNativeScene(t, {
    fhirUrl: sandbox.url,
    isUsual: true,
    dryRun: true,
    lines: [...Array(2_500).fill(observation), { resourceType: 'Patient', id: 'last' }]
  })
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'valid'))
})

// Before each file for a native import, one statement scanned all lines that were not written: 1.5 s and more for a
// million, in which the gateway did nothing else.

const count = 5_000

t.test(
  'waiting lines are scanned in bounded parts, and each that can be handed over is found once',
  t => {
    const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
    const index = new IndexFile(join(directory, 'index.db'))
    t.teardown(() => {
      index.close()
      rmSync(directory, { recursive: true, force: true })
    })
    const buildLine = (line: number) => ({
      line,
      at: line * 100,
      bytes: line === 1 ? 300_000 : 99,
      type: 'Patient',
      identity: `i${line}`,
      seal: 'x',
      refersTo: line === 1 || line % 1_250 === 0 ? [] : ['i1']
    })
    index.add(
      Array.from({ length: count }, (_, at) => buildLine(at + 1)),
      new Map(),
      () => Buffer.alloc(0)
    )

    const readAll = (look: (after: number) => ReturnType<IndexFile['findReadyLines']>) => {
      const found: number[] = []
      let parts = 0
      for (let after: number | undefined = 0; after !== undefined; parts++) {
        const { lines, after: next }: ReturnType<IndexFile['findReadyLines']> = look(after)
        t.ok(next === undefined || next - after <= 1_000)
        found.push(...lines.map(({ line }) => line))
        after = next
      }
      return { found, parts }
    }
    t.strictSame(
      readAll(after => index.findReadyLines({ after, maxBytes: 1_000, maxLines: 200 })),
      { found: [1_250, 2_500, 3_750, 5_000], parts: 6 }
    )
    t.strictSame(
      readAll(after => index.findReadyLines({ after, maxBytes: 1_000, maxLines: 1 })).found,
      [1_250, 2_500, 3_750, 5_000]
    )
    index.send([1_250, 3_750].map(line => ({ line, plan: 'created' })))
    t.strictSame(readAll(after => index.findSubmittedLines(after, 1)).found, [1_250, 3_750])
    t.strictSame(
      readAll(after => index.findReadyLines({ after, maxBytes: 1_000, maxLines: 200 })).found,
      [2_500, 5_000]
    )
    index.end([{ line: 1, isFailed: false, result: Buffer.alloc(0) }])
    t.equal(readAll(after => index.findReadyLines({ after, maxBytes: 1_000, maxLines: 200 })).found.length, count - 3)
    t.end()
  }
)

// Imports worked on the lines of a transaction, or a thousand, at a time, however many references those lines had.

async function startWaitingLines (t: Test, settings: Pick<NativeSceneSettings, 'lines' | 'dryRun'>): Promise<NativeScene> {
  const sandbox = await startTestSandbox(t)
  return await startNativeScene(t, { fhirUrl: sandbox.url, isUsual: true, ...settings })
}

/** Records the calls of all indexes, until the end of a test. */
function watch<K extends 'add' | 'link' | 'referred' | 'targets' | 'end'> (
  t: Test,
  name: K,
  seen: (args: Parameters<IndexFile[K]>, result: ReturnType<IndexFile[K]>) => void
): void {
  const before = IndexFile.prototype[name] as (...args: unknown[]) => unknown
  const recordCall = function (this: IndexFile, ...args: unknown[]): unknown {
    const result = before.apply(this, args)
    seen(args as Parameters<IndexFile[K]>, result as ReturnType<IndexFile[K]>)
    return result
  }
  Object.assign(IndexFile.prototype, { [name]: recordCall })
  t.after(() => {
    Object.assign(IndexFile.prototype, { [name]: before })
  })
}

/** Counts up to the next turn of the event loop. @returns the largest count */
function countPerTurn (t: Test): { add: (count: number) => void, getMaxCount: () => number } {
  let count = 0
  let maxCount = 0
  const turn = (): void => {
    count = 0
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  t.after(() => clearImmediate(next))
  return { add: more => { maxCount = Math.max(maxCount, count += more) }, getMaxCount: () => maxCount }
}

const buildPatients = (count: number): unknown[] =>
  [...Array(count).keys()].map(at => ({ resourceType: 'Patient', id: `${at}` }))

const list = (id: string, references: readonly string[]) => ({
  resourceType: 'List',
  id,
  status: 'current',
  mode: 'working',
  entry: references.map(reference => ({ item: { reference } }))
})

const toPatients = (count: number): string[] => [...Array(count).keys()].map(at => `Patient/${at}`)

t.test('lines with many references are read, ordered and checked a few at a time', async t => {
  const lists = [...Array(24).keys()].map(at => list(`l${at}`, toPatients(4_000)))
  const scene = await startWaitingLines(t, { lines: [...lists, ...buildPatients(4_000)], dryRun: true })
  const rows = countPerTurn(t)
  let maxAdded = 0
  let linked = 0
  watch(t, 'add', ([lines]) => {
    maxAdded = Math.max(
      maxAdded,
      lines.reduce((sum, { refersTo }) => sum + refersTo.length, 0)
    )
  })
  watch(t, 'link', () => { linked++ })
  watch(t, 'referred', (_, result) => rows.add(result.length))
  watch(t, 'targets', (_, result) => rows.add(result.length))
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'valid'))
  t.ok(maxAdded >= maxReferences && maxAdded < 2 * maxReferences, `${maxAdded} references went into the index at once`)
  t.ok(linked >= 24 / 3, `they were linked in ${linked} steps`)
  t.ok(rows.getMaxCount() <= 6 * maxReferences, `${rows.getMaxCount()} references were looked at in one turn of the event loop`)
})

t.test('a line with too many references fails with the maximum, and one with as many as that is valid', async t => {
  const scene = await startWaitingLines(t, {
    lines: [...buildPatients(1), list('more', toPatients(10_001)), list('most', toPatients(10_000))],
    dryRun: true
  })
  t.equal(await scene.run(), 'ended')
  const [, more, atLimit] = scene.readResults()
  t.strictSame(more, {
    line: 2,
    status: 'failed',
    code: 'VALIDATION_ERROR',
    message: 'A line can refer to at most 10000 other records. Split the record.'
  })
  t.match(atLimit, { status: 'failed', message: /must lead to an existing record/ }, 'the records are not there')
})

t.test('lines of a cycle that have too many references together fail', async t => {
  const half = toPatients(5_000)
  const lines = [
    list('a', ['List/b', ...half]),
    list('b', ['List/a', ...half]),
    list('c', ['List/d', ...half]),
    list('d', ['List/c']),
    ...buildPatients(5_000)
  ]
  const scene = await startWaitingLines(t, { lines, dryRun: true })
  t.equal(await scene.run(), 'ended')
  t.match(scene.readResults().slice(0, 4), [
    ...Array(2).fill({
      status: 'failed',
      code: 'VALIDATION_ERROR',
      message:
        'The line is part of a reference cycle whose lines together have more than 10000 references. Split the records.'
    }),
    ...Array(2).fill({ status: 'valid' })
  ])
})

t.test('no more references are held in memory than a path of lines may have, while their order is found', t => {
  const referred = (line: number): readonly number[] =>
    line > 100 ? [] : [line + 1, ...Array(maxReferences).fill(1_000)]
  t.throws(() => [...sortTopologically([1], { referred, isOrdered: line => line === 1_000 })], TooDeep)
  t.end()
})

for (const dryRun of [true, false]) {
  t.test(`the result of a line that ${dryRun ? 'would be' : 'was'} new is not opened for each one that refers to it`, async t => {
    const observation = {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'weight' },
      subject: { reference: 'Patient/0' }
    }
    const scene = await startWaitingLines(t, {
      lines: [...buildPatients(1), ...Array(1_000).fill(observation)],
      dryRun
    })
    const { open } = ResultCipher.prototype
    let opened = 0
    ResultCipher.prototype.open = function (...args) {
      opened++
      return open.apply(this, args)
    }
    t.after(() => {
      ResultCipher.prototype.open = open
    })
    t.equal(await scene.run(), 'ended')
    t.equal(opened, 0)
    t.ok(scene.readResults().every(({ status }) => status === (dryRun ? 'valid' : 'created')))
  })
}

t.test('lines that refer to a failed one are ended a few at a time', async t => {
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: 'Patient/bad' }
  }
  const scene = await startWaitingLines(t, {
    lines: [...Array(3_000).fill(observation), { resourceType: 'Patient', id: 'bad', birthDate: '1970-02-30' }]
  })
  const ends = countPerTurn(t)
  watch(t, 'end', ([endings]) => ends.add(endings.length))
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'failed'))
  t.ok(ends.getMaxCount() <= 2 * 800, `${ends.getMaxCount()} lines were ended in one turn of the event loop`)
})
