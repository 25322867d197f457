/** The client that the page on other languages generates, and the program that uses it there. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readBlock } from '../e2e/document.js'
import { startBuiltGateway } from '../fuzz/gateway.js'
import { buildMain } from '../harness/built.js'
import { installPython } from '../harness/python.js'

const run = promisify(execFile)
const page = 'docs/how-to/other-languages.md'
const output: string[] = []
const programs = await installPython({ log: (line: string) => { output.push(line) } })

t.setTimeout(300_000)
t.test('a Python client is generated from the OpenAPI document without a warning, and works', {
  skip: programs === undefined && output.join(' '),
  timeout: 300_000
}, async t => {
  const gateway = await startBuiltGateway({ dist: dirname(buildMain()) })
  t.after(gateway.stop)
  const folder = t.testdir()
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${gateway.url}/openapi.json`)).text())
  // The page's hooks only format what was generated, which takes as long as generating it.
  writeFileSync(join(folder, 'generator.yaml'), `${readBlock(page, 'yaml generator.yaml')}post_hooks: []\n`)
  writeFileSync(join(folder, 'first_steps.py'), readBlock(page, 'python first_steps.py'))
  const { stdout, stderr } = await run(join(programs!, 'openapi-python-client'), [
    'generate',
    ...['--path', 'openapi.json', '--config', 'generator.yaml', '--output-path', 'clinigate_client', '--meta', 'none']
  ], { cwd: folder })
  t.notMatch(stdout + stderr, /warning|error/i)
  const used = await run(join(programs!, 'python'), ['first_steps.py', gateway.url, gateway.key], { cwd: folder })
  t.match(used.stdout.split('\n'), [
    'Ada Okafor 1984-03-14',
    '1 found',
    /^VALIDATION_ERROR: gender: expected one of male, female, other, unknown\. \(request \S+\)$/,
    ''
  ])
})
