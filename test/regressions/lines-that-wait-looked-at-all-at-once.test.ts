import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { IndexFile } from '../../src/jobs/import/index-file.js'

// Before each portion for a datastore's own import, one statement looked through all lines that were not written: 1.5 s
// and more for a million, in which the gateway did nothing else.

const count = 5_000

t.test(
  'lines that wait for another one are looked through in bounded parts, and each that can be handed over is found once',
  t => {
    const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
    const index = new IndexFile(join(directory, 'index.db'))
    t.teardown(() => {
      index.close()
      rmSync(directory, { recursive: true, force: true })
    })
    const lineAt = (line: number) => ({
      line,
      at: line * 100,
      bytes: line === 1 ? 300_000 : 99,
      type: 'Patient',
      identity: `i${line}`,
      seal: 'x',
      refersTo: line === 1 || line % 1_250 === 0 ? [] : ['i1']
    })
    index.add(
      Array.from({ length: count }, (_, at) => lineAt(at + 1)),
      new Map(),
      () => Buffer.alloc(0)
    )

    const looks = (look: (after: number) => ReturnType<IndexFile['ready']>) => {
      const found: number[] = []
      let parts = 0
      for (let after: number | undefined = 0; after !== undefined; parts++) {
        const { lines, after: next }: ReturnType<IndexFile['ready']> = look(after)
        t.ok(next === undefined || next - after <= 1_000)
        found.push(...lines.map(({ line }) => line))
        after = next
      }
      return { found, parts }
    }
    t.strictSame(
      looks(after => index.ready({ after, max: 1_000, most: 200 })),
      { found: [1_250, 2_500, 3_750, 5_000], parts: 6 }
    )
    t.strictSame(looks(after => index.ready({ after, max: 1_000, most: 1 })).found, [1_250, 2_500, 3_750, 5_000])
    index.send([1_250, 3_750].map(line => ({ line, plan: 'created' })))
    t.strictSame(looks(after => index.handedOver(after, 1)).found, [1_250, 3_750])
    t.strictSame(looks(after => index.ready({ after, max: 1_000, most: 200 })).found, [2_500, 5_000])
    index.end([{ line: 1, isFailed: false, result: Buffer.alloc(0) }])
    t.equal(looks(after => index.ready({ after, max: 1_000, most: 200 })).found.length, count - 3)
    t.end()
  }
)
