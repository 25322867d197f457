/** Tests a running gateway against the OpenAPI document for a limited time. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

/** How long the tools take for one resource group in depth, on a busy machine. */
const secondsOfGroup = 15

/**
 * Sends what the document allows and what it does not, to every operation in turn and in depth to some groups that the
 * seed picks.
 * @param {{ program: string, url: string, key: string, seed: number, seconds: number, log: (text: string) => void }}
 * options
 * @returns {Promise<boolean>} whether every response was correct; the log has the others, and how to send them again
 */
export async function fuzz ({ program, url, key, seed, seconds, log }) {
  log(`Fuzzing ${url} for ${seconds} s with seed ${seed}\n`)
  const groups = pickGroups(await fetchGroups(url), {
    seed,
    count: Math.max(1, Math.floor(seconds / 2 / secondsOfGroup))
  })
  const runs = [
    ['--phases', 'examples,fuzzing', '--max-examples', '4'],
    [
      '--phases',
      'coverage,stateful',
      '--max-examples',
      '20',
      ...['service', ...groups].flatMap(tag => ['--include-tag', tag])
    ]
  ]
  let isClean = true
  for (const args of runs) {
    log(`\n${args.join(' ')}\n`)
    isClean =
      (await run(
        program,
        [`${url}/openapi.json`, ...args, '--seed', String(seed), '--max-time', String(Math.ceil(seconds / 2))],
        { key, log }
      )) && isClean
  }
  return isClean
}

async function fetchGroups (url) {
  const { paths } = await (await fetch(`${url}/openapi.json`)).json()
  return Object.keys(paths).flatMap(path => /^\/v1\/([a-z-]+)\/\{id\}$/.exec(path)?.[1] ?? [])
}

/** Some names, the same for the same seed: those at steps of a size that the seed gives. */
function pickGroups (names, { seed, count }) {
  const step = 1 + seed % (names.length - 1)
  return [...new Set(Array.from({ length: count }, (_, i) => names[(seed + i * step) % names.length]))]
}

function run (program, args, { key, log }) {
  const child = spawn(
    program,
    ['--config-file', join(import.meta.dirname, 'schemathesis.toml'), '--no-color', 'run', ...args],
    { cwd: import.meta.dirname, env: { ...process.env, CLINIGATE_KEY: key }, stdio: ['ignore', 'pipe', 'pipe'] }
  )
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => log(String(text)))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve(code === 0))
  })
}
