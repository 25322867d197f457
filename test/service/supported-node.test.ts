import { readFileSync } from 'node:fs'
import t from 'tap'
import { requireSupportedNode } from '../../src/service/supported-node.js'

t.test('a Node that would end the process in its database driver is refused in words', async t => {
  t.throws(() => requireSupportedNode('24.19.0'), /Node 20 or 22/)
  t.throws(() => requireSupportedNode('26.0.0'), /Node 20 or 22/)
  for (const version of ['20.19.0', '22.23.3', process.versions.node]) t.doesNotThrow(() => requireSupportedNode(version))
})

t.test('package.json, the image and the check say the same of Node', async t => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  t.match(JSON.parse(read('package.json')).engines.node, />=20\.19 <24$/)
  t.strictSame([...read('docker/Dockerfile').matchAll(/^FROM \S*node(?:js)?:?(\d+)/gm)].map(([, major]) => major), ['22', '22'])
})
