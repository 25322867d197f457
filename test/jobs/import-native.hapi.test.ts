import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { buildMixedLines, startNativeScene } from './native-importing.js'

const { name, url: fhirUrl } = requireRealBackend()

test(`${name}: records that its native import stores, leaves out or breaks off at have the same results as by transactions, and no other tenant is touched`, async t => {
  const lines = buildMixedLines(240)
  // A status that R4 does not have, at which the server aborts the whole import.
  lines[100] = { ...(lines[100] as object), status: 'nonsense' }
  const usual = await startNativeScene(t, { fhirUrl, lines, isUsual: true, tenantId: randomUUID() })
  await usual.run()
  const native = await startNativeScene(t, { fhirUrl, lines, max: 60, tenantId: randomUUID() })
  await native.run()
  t.ok(native.begun() >= 4, `requested ${native.begun()} imports`)
  t.ok(native.written() < usual.written(), "some went by the server's native import")
  const toResults = (scene: typeof native) => scene.readResults().map(({ id: _, ...result }) => result)
  t.same(toResults(native), toResults(usual))
  t.match(native.readResults()[100], { status: 'failed', code: 'VALIDATION_ERROR' })
  for (const type of ['Patient', 'Observation']) t.equal(await native.countRecords(type), await usual.countRecords(type), type)
  t.equal(
    await native.countRecords('Observation'),
    native
      .readResults()
      .filter(
        ({ status }, at) =>
          status === 'created' && (lines[at] as { resourceType: string }).resourceType === 'Observation'
      ).length
  )
  t.equal(native.held(), 0)
})
