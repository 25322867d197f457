/** Compiles `bytes.as.ts` into `compiled.ts`, which a test compares with what it would write. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileScript, printCompiled } from '../nodes/compile.js'

/** @returns the code of the source, which `change` may alter, in base64 @throws {Error} with the compiler's message */
export const compileBytes = change => compileScript(join(import.meta.dirname, 'bytes.as.ts'), change)

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, 'compiled.ts'), printCompiled('bytes.as.ts', await compileBytes()))
}
