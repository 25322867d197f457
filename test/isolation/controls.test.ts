import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { controls } from './controls.js'

const root = join(import.meta.dirname, '../../src')
const { config } = ts.readConfigFile(join(root, '../tsconfig.json'), path => readFileSync(path, 'utf8'))
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, join(root, '..'))

/** A file as it is built. */
function built (file: string): string {
  const text = readFileSync(join(root, file.replace(/\.js$/, '.ts')), 'utf8')
  return ts.transpileModule(text, { compilerOptions: { ...options, module: ts.ModuleKind.ESNext } }).outputText
}

// The run that switches controls off takes long and is rare; a text that has moved is found here.
t.test('what each control switches off stands in the program exactly once', async t => {
  const files = new Map(controls.flatMap(({ patches }) => patches).map(({ file }) => [file, built(file)]))
  const wrong = controls.flatMap(({ control, patches }) =>
    patches
      .map(({ file, find }) => ({ control, file, times: files.get(file)!.split(find).length - 1 }))
      .filter(({ times }) => times !== 1)
  )
  t.ok(controls.length > 0)
  t.strictSame(wrong, [])
})
