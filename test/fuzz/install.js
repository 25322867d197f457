/** Installs the fuzzer, a Python program. */
import { join } from 'node:path'
import { installPython } from '../harness/python.js'

/**
 * Installs the fuzzer where it is missing, and returns its program.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<string | undefined>} undefined, with the reason in the log, where it cannot be installed
 */
export async function installFuzzer ({ log }) {
  const programs = await installPython({ log })
  return programs && join(programs, 'schemathesis')
}
