import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { buildMain } from '../harness/built.js'
import { requireSupportedNode } from '../../src/bootstrap/requirements.js'

t.test('a Node that is too old for the database driver is rejected with the version to use', async t => {
  for (const version of ['20.20.2', '22.11.0', '18.0.0']) {
    t.throws(() => requireSupportedNode(version), /Node 22\.12 or later is needed/)
  }
  for (const version of ['22.12.0', '24.0.0', '26.10.0', process.versions.node]) {
    t.doesNotThrow(() => requireSupportedNode(version))
  }
})

t.test('package.json and the check require the same version of Node', async t => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  t.equal(JSON.parse(read('package.json')).engines.node, '>=22.12')
})

/** A Node that reports an old version, and crashes like an old one where a driver is loaded. */
const old =
  "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'});process.dlopen=()=>process.abort()"

for (const file of ['main.js', 'operator/cli/index.js']) {
  for (const args of [[], ['start'], ['orgs', 'list'], ['--version']]) {
    t.test(
      `on an old Node \`${[file, ...args].join(' ')}\` reports which one is needed, before it loads the database driver`,
      async t => {
        const ended = spawnSync(process.execPath, ['--import', old, join(dirname(buildMain()), file), ...args], {
          encoding: 'utf8'
        })
        t.equal(ended.status, 1)
        t.equal(ended.stdout, '')
        t.equal(ended.stderr, 'clinigate: Node 22.12 or later is needed, such as Node 24; this is Node 20.20.2\n')
      }
    )
  }
}
