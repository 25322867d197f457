import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPython } from '../harness/python.js'
import { testClient } from './client-contract.js'

const output: string[] = []
const programs = await installPython({ log: (line: string) => { output.push(line) } })

await testClient('fhirpy works with the gateway as with any R4 server', {
  // Its patch is a JSON Merge Patch, which R4 does not have.
  hasPatch: false,
  skip: programs === undefined && output.join(' '),
  run: async ({ base, key }) => {
    const { stdout } = await promisify(execFile)(
      join(programs!, 'python'),
      [join(import.meta.dirname, 'fhirpy_client.py'), base, key],
      { timeout: 240_000 }
    )
    return JSON.parse(stdout)
  }
})
