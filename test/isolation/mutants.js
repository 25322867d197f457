/**
 * `npm run mutants [-- --ci] [--only words] [--hapi URL]`: loads the program with one control after the other switched
 * off and sends the attacks to it. Each must be found: a control whose absence no attack shows is no control, or the
 * attacks are no test of it.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { buildSource, toSourcePath } from './built-source.js'
import { controls } from './controls.js'

const root = join(import.meta.dirname, '..', '..')
const options = {
  ci: { type: 'boolean', default: false },
  only: { type: 'string' },
  hapi: { type: 'string', default: process.env.TEST_FHIR_URL }
}
const { values: { ci, only, hapi } } = parseArgs({ options })
const mutantsAtOnce = 2

const folder = mkdtempSync(join(tmpdir(), 'clinigate-mutants-'))
try {
  process.exitCode = await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run () {
  const chosen = controls.filter(
    ({ control, on, ci: isQuick = false }) =>
      (!ci || isQuick) && (only === undefined || control.includes(only)) && (on === undefined || hapi !== undefined)
  )
  const left = controls.filter(({ on }) => on === 'hapi' && hapi === undefined).length
  if (chosen.length === 0) throw new Error('no control was chosen')
  const limit = pLimit(mutantsAtOnce)
  // The unchanged program must pass, or a finding says nothing.
  const healthy = only === undefined ? [{ control: '(nothing switched off)', patches: [], sections: [] }] : []
  // Before any run, so that a text that has moved is found at once.
  const prepared = [...healthy, ...chosen].map(control => ({ control, texts: switchOff(control) }))
  const runs = prepared.map(({ control, texts }) => limit(() => runMutant(control, texts)))
  const rows = await Promise.all(runs)
  const wrong = rows.filter(({ isRight }) => !isRight).length
  console.log(
    `\n${chosen.length} controls switched off, ${rows.filter(({ isRight }) => isRight).length - healthy.length} found${ci || left === 0 ? '' : `; ${left} need --hapi`}`
  )
  return wrong === 0 ? 0 : 1
}

/** The files of the program with one control switched off, by their URLs. */
function switchOff ({ control, patches }) {
  const texts = {}
  for (const { file, find, replace } of patches) {
    const url = pathToFileURL(toSourcePath(file)).href
    const text = texts[url] ?? buildSource(file)
    const times = text.split(find).length - 1
    if (times !== 1) throw new Error(`${control}: in ${file} this stands ${times} times: ${find}`)
    texts[url] = text.replace(find, () => replace)
  }
  return texts
}

async function runMutant (control, texts) {
  const { code, output } = await runAttacks(control, texts)
  const isHealthy = control.patches.length === 0
  const isRight = code === (isHealthy ? 0 : 1)
  const verdict = code === 0 ? (isHealthy ? 'green' : 'GREEN') : code === 1 ? (isHealthy ? 'RED' : 'red') : 'BROKEN'
  console.log(
    `${verdict.padEnd(7)}${control.control.padEnd(45)}${verdict === 'red' ? output.split('\n')[0].slice(0, 90) : output.slice(0, 600)}`
  )
  return { isRight }
}

async function runAttacks ({ sections, on }, texts) {
  const file = join(folder, `${randomUUID()}.json`)
  writeFileSync(file, JSON.stringify(texts))
  const loader = pathToFileURL(join(import.meta.dirname, 'replace-modules.js'))
  loader.searchParams.set('texts', file)
  const imports = [pathToFileURL(join(root, 'test/harness/typescript.js')), loader].map(({ href }) => `--import=${href}`)
  const args = ['--first', '--all', ...on === 'hapi' ? [`--hapi=${hapi}`] : [], ...sections]
  const child = spawn(process.execPath, [...imports, join(import.meta.dirname, 'attack-run.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => { output += text })
  const [code] = await once(child, 'close')
  return { code, output }
}
