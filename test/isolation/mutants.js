/**
 * `npm run mutants [-- --ci] [--only words] [--hapi URL]`: switches one control after the other off in a copy of the
 * built program and sends the attacks to it. Each must be found: a control whose absence no attack shows is no control,
 * or the attacks are no test of it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { controls } from './controls.js'

const root = join(import.meta.dirname, '..', '..')
const options = {
  ci: { type: 'boolean', default: false },
  only: { type: 'string' },
  hapi: { type: 'string', default: process.env.TEST_FHIR_URL }
}
const { values: { ci, only, hapi } } = parseArgs({ options })
const mutantsAtOnce = 2

// Below the root, where the packages are found.
mkdirSync(join(root, '.tap'), { recursive: true })
const folder = mkdtempSync(join(root, '.tap', 'mutants-'))
try {
  process.exitCode = await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run () {
  const built = build()
  const chosen = controls.filter(
    ({ control, on, ci: isQuick = false }) =>
      (!ci || isQuick) && (only === undefined || control.includes(only)) && (on === undefined || hapi !== undefined)
  )
  const left = controls.filter(({ on }) => on === 'hapi' && hapi === undefined).length
  if (chosen.length === 0) throw new Error('no control was chosen')
  for (const control of chosen) for (const patch of control.patches) patched(built, control, patch)
  const limit = pLimit(mutantsAtOnce)
  // What stands as it is must pass, or to be found says nothing.
  const healthy = only === undefined ? [{ control: '(nothing switched off)', patches: [], sections: [] }] : []
  const runs = [...healthy, ...chosen].map(control => limit(() => tried(built, control)))
  const rows = await Promise.all(runs)
  const wrong = rows.filter(({ isRight }) => !isRight).length
  console.log(
    `\n${chosen.length} controls switched off, ${rows.filter(({ isRight }) => isRight).length - healthy.length} found${ci || left === 0 ? '' : `; ${left} need --hapi`}`
  )
  return wrong === 0 ? 0 : 1
}

/** Builds the program and the attacks, without types, beside each other. */
function build () {
  const built = join(folder, 'built')
  const output = ['--outDir', built, '--noEmit', 'false', '--noCheck', '--incremental', 'false']
  execFileSync(
    process.execPath,
    [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', join(root, 'test'), ...output],
    { stdio: 'inherit' }
  )
  return built
}

/** The text of a file with one control switched off. */
function patched (built, { control }, { file, find, replace }) {
  const text = readFileSync(join(built, 'src', file), 'utf8')
  const times = text.split(find).length - 1
  if (times !== 1) throw new Error(`${control}: in ${file} this stands ${times} times: ${find}`)
  return text.replace(find, () => replace)
}

async function tried (built, control) {
  const copy = mkdtempSync(join(folder, 'mutant-'))
  for (const part of ['src', 'test/isolation', 'test/harness']) {
    cpSync(join(built, part), join(copy, part), { recursive: true })
  }
  // What the build copies, and the package as it is.
  for (const part of ['src/control-plane/dashboard/assets', 'config', 'package.json']) {
    cpSync(join(root, part), join(copy, part), { recursive: true })
  }
  for (const patch of control.patches) writeFileSync(join(copy, 'src', patch.file), patched(copy, control, patch))
  const { code, said } = await attacked(copy, control)
  rmSync(copy, { recursive: true, force: true })
  const isHealthy = control.patches.length === 0
  const isRight = code === (isHealthy ? 0 : 1)
  const verdict = code === 0 ? (isHealthy ? 'green' : 'GREEN') : code === 1 ? (isHealthy ? 'RED' : 'red') : 'BROKEN'
  console.log(
    `${verdict.padEnd(7)}${control.control.padEnd(45)}${verdict === 'red' ? said.split('\n')[0].slice(0, 90) : said.slice(0, 600)}`
  )
  return { isRight }
}

async function attacked (copy, { sections, on }) {
  const args = ['--first', '--all', ...on === 'hapi' ? [`--hapi=${hapi}`] : [], ...sections]
  const child = spawn(process.execPath, [join(copy, 'test/isolation/attack-run.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => { said += text })
  const [code] = await once(child, 'close')
  return { code, said }
}
