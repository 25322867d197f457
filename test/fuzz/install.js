/** Installs the fuzzer, a Python program. */
import { join } from 'node:path'
import { installPython } from '../harness/python.js'

/**
 * The program of the fuzzer, installed where it is not yet.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<string | undefined>} undefined, with a line in the log that says why, where it cannot be installed
 */
export async function installFuzzer ({ log }) {
  const programs = await installPython({ log })
  return programs && join(programs, 'schemathesis')
}
