import Database from 'better-sqlite3'
import t from 'tap'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { startNativeScene } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

const lines = [...Array(1_000).keys()].map(at => ({
  resourceType: 'Patient',
  id: `p${at}`,
  name: [{ family: `N${at}` }]
}))

// Whether a line was missing was asked beside the writing since lines are written while others are read, and so too
// late.
t.test('an import that is taken up with an index that lacks a line writes nothing more', async t => {
  const sandbox = await startTestSandbox(t)
  const scene = await startNativeScene(t, { fhirUrl: sandbox.url, lines, isUsual: true })
  t.equal(await scene.run(4), 'broken off')
  const db = new Database(scene.files.path(indexFile))
  db.prepare('DELETE FROM lines WHERE line = 400').run()
  db.close()
  const before = scene.written()
  await t.rejects(scene.run(), {
    code: 'INTERNAL_ERROR',
    message: /^Something other than the gateway changed or truncated a file/
  })
  t.equal(scene.written(), before)
})
