import t, { type Test } from 'tap'
import { maxBytes } from '../../src/jobs/import/pace.js'
import { startNativeScene, type NativeScene } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

// Lines that refer to each other in a circle are written in one transaction. How many there are was bounded, and not
// how long they are: 500 lines of 10 MB would have been in memory together.

async function startScene (t: Test, lines: readonly unknown[]): Promise<NativeScene> {
  const { url } = await startTestSandbox(t)
  return await startNativeScene(t, { fhirUrl: url, isUsual: true, lines })
}

/** Patients each of whom refers to the next, the last one to the first, with so many characters of names together. */
const cycle = (name: string, count: number, characters: number): unknown[] => [...Array(count).keys()].map(at => ({
  resourceType: 'Patient',
  id: `${name}${at}`,
  name: [{ family: 'x'.repeat(characters / count) }],
  link: [{ other: { reference: `Patient/${name}${(at + 1) % count}` }, type: 'seealso' }]
}))

t.test(
  'lines of a circle that are too long together fail, and say how long they may be; nothing of them is read again',
  async t => {
    const scene = await startScene(t, [...cycle('long', 4, maxBytes), { resourceType: 'Patient', id: 'after' }])
    t.equal(await scene.run(), 'ended')
    t.match(scene.results(), [
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

t.test('lines of a circle that are as long as a transaction are stored', async t => {
  const scene = await startScene(t, cycle('fit', 4, maxBytes - 1_000))
  t.equal(await scene.run(), 'ended')
  t.ok(scene.results().every(({ status }) => status === 'created'))
})
