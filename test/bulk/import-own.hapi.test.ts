import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { realBackend } from '../harness/backend.js'
import { mixedLines, startOwnScene } from './own-importing.js'

const { name, url: fhirUrl } = realBackend()

test(`${name}: what its own import stores, leaves out and breaks off at has the same results as transactions, and no other tenant is touched`, async t => {
  const lines = mixedLines(240)
  // No one of R4's, at which the server breaks off the whole.
  lines[100] = { ...lines[100] as object, status: 'nonsense' }
  const usual = await startOwnScene(t, { fhirUrl, lines, isUsual: true, tenantId: randomUUID() })
  await usual.run()
  const own = await startOwnScene(t, { fhirUrl, lines, most: 60, tenantId: randomUUID() })
  await own.run()
  t.ok(own.begun() >= 4, `asked for ${own.begun()} imports`)
  t.ok(own.written() < usual.written(), 'some went by the server\'s own import')
  const told = (scene: typeof own) => scene.results().map(({ id: _, ...result }) => result)
  t.same(told(own), told(usual))
  t.match(own.results()[100], { status: 'failed', code: 'VALIDATION_ERROR' })
  for (const type of ['Patient', 'Observation']) t.equal(await own.total(type), await usual.total(type), type)
  t.equal(await own.total('Observation'), own.results().filter(({ status }, at) => status === 'created' && (lines[at] as { resourceType: string }).resourceType === 'Observation').length)
  t.equal(own.held(), 0)
})
