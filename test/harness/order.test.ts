import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { orderFiles, named } from './order.js'

const root = join(import.meta.dirname, '..', '..')

t.test('each file that is named to begin early is there', async t =>
  t.strictSame(named.filter(file => !existsSync(join(root, file))), [])
)

t.test('each file of a run starts once, the longest first, and those that mostly wait next to the others', async t => {
  const files = [
    'test/a.test.ts',
    'test/docs/add-a-resource.test.ts',
    'test/jobs/export.test.ts',
    'test/resources/resources.test.ts'
  ]
  t.strictSame(orderFiles(files), {
    busy: ['test/docs/add-a-resource.test.ts', 'test/resources/resources.test.ts', 'test/a.test.ts'],
    waiting: ['test/jobs/export.test.ts']
  })
  const { busy, waiting } = orderFiles([...named, 'test/a.test.ts'])
  t.strictSame([...busy, ...waiting].sort(), [...named, 'test/a.test.ts'].sort())
})
