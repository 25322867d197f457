/**
 * `npm run containers [-- files]`: makes stand-ins for the base images that the engine lacks, builds the image, starts
 * the compose files and tests them. It ends with the count of the tests, or with the name of the missing program.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buildImage, root } from './build.js'
import { findCompose, findEngine } from './engine.js'
import { makeStandIns } from './stand-ins.js'

// One after the other: each starts two FHIR servers.
const files = ['image', 'one-machine', 'scaled', 'testcontainers', 'kubernetes'].map(name => `test/containers/${name}.ts`)
const chosen = process.argv.length > 2 ? process.argv.slice(2) : files

try {
  const engine = await findEngine()
  console.log(`Containers: ${engine.name}`)
  try {
    process.env.TEST_COMPOSE = await findCompose(console.log)
    await makeStandIns(console.log)
    const began = Date.now()
    await buildImage()
    console.log(`The image was built in ${Math.round((Date.now() - began) / 1_000)} s`)
    process.exitCode = await runTests()
  } finally {
    await engine.stop()
  }
} catch (error) {
  console.error(`The containers did not run: ${(error as Error).message}`)
  process.exitCode = 1
}

async function runTests (): Promise<number> {
  const child = spawn(process.execPath, [join(root, 'test', 'run.js'), ...chosen], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TEST_FILES_AT_ONCE: '1', TEST_FILE_SECONDS: '1500', TESTCONTAINERS_RYUK_DISABLED: 'true' }
  })
  const [code] = await once(child, 'exit') as [number | null]
  return code ?? 1
}
