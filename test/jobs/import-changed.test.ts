import { copyFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { draftsFile } from '../../src/jobs/import/import-context.js'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { toNdjson } from './importing.js'
import { startNativeScene, type NativeScene } from './native-importing.js'

const patients = [...Array(300).keys()].map(at => ({
  resourceType: 'Patient',
  id: `p${at}`,
  name: [{ family: `N${at}` }]
}))
const observations = [...Array(300).keys()].map(at => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'weight' },
  subject: { reference: `Patient/p${at}` }
}))
const lines = [...patients, ...observations]
/** A second run writes these again, and so looks where their references lead. */
const named = [...patients, ...observations.map((line, at) => ({ ...line, id: `o${at}` }))]

/** What an import says of files that are not as the gateway left them. */
const changed = { code: 'INTERNAL_ERROR', message: /^Something other than the gateway changed or truncated a file/ }

t.test('an import whose files were changed by anything but the gateway fails with that reason', async t => {
  const sandbox = await startTestSandbox(t)
  let tenants = 0
  const start = (t: Test, tenantId = `t-${++tenants}`, sent: readonly unknown[] = lines) =>
    startNativeScene(t, { fhirUrl: sandbox.url, lines: sent, isUsual: true, tenantId })
  const changeIndex = ({ files }: NativeScene, change: (db: Database.Database) => unknown) => {
    const db = new Database(files.path(indexFile))
    change(db)
    db.close()
  }
  const changeDrafts = ({ files }: NativeScene, change: string) => {
    const db = new Database(files.path(draftsFile))
    db.prepare(change).run()
    db.close()
  }

  const replaceInput = async ({ files }: NativeScene, records: readonly unknown[]) => {
    const writer = await files.write('input')
    await writer.write(Buffer.from(toNdjson(records)))
    await writer.close()
  }

  await t.test('an input that is not the one that was sent, whole by itself though it is', async t => {
    const scene = await start(t)
    await replaceInput(scene, lines.slice(0, 1))
    await t.rejects(scene.run(), changed)
  })

  await t.test('an index that is put back as it was before', async t => {
    const scene = await start(t)
    t.equal(await scene.run(3), 'broken off')
    const path = scene.files.path(indexFile)
    copyFileSync(path, `${path}.before`)
    t.equal(await scene.run(), 'ended')
    copyFileSync(`${path}.before`, path)
    await t.rejects(scene.run(), changed)
  })

  await t.test('a result that was another line\'s', async t => {
    const scene = await start(t)
    t.equal(await scene.run(), 'ended')
    t.equal(scene.readResults().length, lines.length)
    changeIndex(scene, db =>
      db.prepare('UPDATE lines SET result = (SELECT result FROM lines WHERE line = 1) WHERE line = 2').run()
    )
    t.throws(() => scene.readResults(), changed)
  })

  const inTheMiddle: Readonly<Record<string, (scene: NativeScene) => Promise<void> | void>> = {
    'an input that is exchanged while its lines are written': scene =>
      replaceInput(
        scene,
        lines.map(line => ({ ...line, language: 'en' }))
      ),
    'an index from which a line was taken': scene =>
      changeIndex(scene, db => db.prepare('DELETE FROM lines WHERE line = 599').run()),
    "a draft that is another line's": scene =>
      changeDrafts(scene, 'UPDATE drafts SET draft = (SELECT draft FROM drafts WHERE line = 600) WHERE line > 400'),
    'drafts that are gone': scene => changeDrafts(scene, 'DELETE FROM drafts'),
    "a line that is given another's place": scene =>
      changeIndex(scene, db =>
        db
          .prepare(
            'UPDATE lines SET at = (SELECT at FROM lines WHERE line = 1), bytes = (SELECT bytes FROM lines WHERE line = 1) WHERE state < 2'
          )
          .run()
      )
  }
  for (const [what, change] of Object.entries(inTheMiddle)) {
    await t.test(what, async t => {
      const scene = await start(t)
      t.equal(await scene.run(3), 'broken off')
      await change(scene)
      await t.rejects(scene.run(), changed)
    })
  }

  await t.test(
    "a record that there was before and that is given another's name, so that references would lead to it",
    async t => {
      t.equal(await (await start(t, 't-twice', named)).run(), 'ended')
      const scene = await start(t, 't-twice', named)
      t.equal(await scene.run(4), 'broken off')
      changeIndex(scene, swapNames)
      await t.rejects(scene.run(), changed)
    }
  )

  await t.test('but a reference to a new record leads to the one of its name, whatever an index says', async t => {
    const scene = await start(t)
    t.equal(await scene.run(3), 'broken off')
    changeIndex(scene, swapNames)
    t.equal(await scene.run(), 'ended')
    const [patient, observation] = [1, 301].map(line => scene.readResults()[line - 1]!.id)
    const stored = (await (await fetch(`${sandbox.url.replace(/\/$/, '')}/Observation/${observation}`)).json()) as {
      subject: { reference: string }
    }
    t.equal(stored.subject.reference, `Patient/${patient}`)
  })
})

/** Of the first two lines, and of what leads to them. */
function swapNames (db: Database.Database): void {
  const readIdentity = (line: number) =>
    (db.prepare('SELECT identity FROM lines WHERE line = ?').get(line) as { identity: string }).identity
  const [one, other] = [readIdentity(1), readIdentity(2)]
  db.prepare('UPDATE links SET target = 3 - target WHERE target < 3').run()
  for (const [line, identity] of [
    [1, '0'.repeat(32)],
    [2, one],
    [1, other]
  ] as const) { db.prepare('UPDATE lines SET identity = ? WHERE line = ?').run(identity, line) }
}
