import { readFileSync } from 'node:fs'
import t from 'tap'
import { requireSupportedNode } from '../../src/service/supported-node.js'

t.test('a Node that is too old for the database driver is refused with the version to use', async t => {
  for (const version of ['20.20.2', '22.11.0', '18.0.0']) t.throws(() => requireSupportedNode(version), /needs Node 22\.12 or later/)
  for (const version of ['22.12.0', '24.0.0', '26.10.0', process.versions.node]) t.doesNotThrow(() => requireSupportedNode(version))
})

t.test('package.json and the check say the same of Node', async t => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  t.equal(JSON.parse(read('package.json')).engines.node, '>=22.12')
})
