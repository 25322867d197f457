/**
 * `npm run fuzz:openapi [-- --minutes 5 --seed 1 --fhir <base URL>]`: the fuzzer over the built gateway, with the
 * sandbox as its datastore or the given FHIR server. `--install` only installs the Python programs of all tests.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'
import { startBuiltGateway } from './gateway.js'
import { installPython } from '../harness/python.js'
import { installFuzzer } from './install.js'

const {
  values: { minutes, seed, fhir, install }
} = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    fhir: { type: 'string' },
    install: { type: 'boolean', default: false }
  }
})

const program = await installFuzzer({ log: console.log })
if (program === undefined) process.exitCode = 1
else if (install) process.exitCode = await installPython({ log: console.log, environment: 'sekmet' }) ? 0 : 1
else process.exitCode = await fuzzBuilt(program) ? 0 : 1

/** Whether all tests passed. */
async function fuzzBuilt (program) {
  const gateway = await startBuiltGateway({ dist: join(import.meta.dirname, '..', '..', 'dist'), fhirUrl: fhir })
  try {
    const isClean = await fuzz({
      program,
      url: gateway.url,
      key: gateway.key,
      seed: Number(seed),
      seconds: Number(minutes) * 60,
      log: text => process.stdout.write(text)
    })
    const logged = gateway.log()
    if (logged !== '') console.log(`\nThe gateway logged:\n${logged}`)
    return isClean && logged === ''
  } finally {
    await gateway.stop()
  }
}
