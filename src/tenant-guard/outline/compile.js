/** Compiles `outline.as.ts` into `compiled.ts`, which a test compares with what it would write. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileScript, printCompiled as print } from '../../json/nodes/compile.js'

const source = join(import.meta.dirname, 'outline.as.ts')

/** @returns the code of the source, which `change` may alter, in base64 @throws {Error} with the compiler's message */
export const compileOutline = change => compileScript(source, change)

/** @returns the text of `compiled.ts` */
export const printCompiled = code => print('outline.as.ts', code)

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, 'compiled.ts'), printCompiled(await compileOutline()))
}
