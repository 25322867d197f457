import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..', '..')
const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), path => readFileSync(path, 'utf8'))
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
const compilerOptions = { ...options, module: ts.ModuleKind.ESNext, sourceMap: false }

/**
 * The TypeScript file of a file of the built program.
 * @param {string} file below `src`, as a patch names it
 */
export const toSourcePath = file => join(root, 'src', file.replace(/\.js$/, '.ts'))

/**
 * The text of a source file of the program after the build.
 * @param {string} file below `src`, as a patch names it
 */
export function buildSource (file) {
  return ts.transpileModule(readFileSync(toSourcePath(file), 'utf8'), { compilerOptions }).outputText
}
