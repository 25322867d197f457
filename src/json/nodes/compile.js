/** Compiles AssemblyScript; `npm run outline` compiles all of it, and tests compare with what it would write. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import asc from 'assemblyscript/asc'

const tokens = join(import.meta.dirname, 'tokens.as.ts')

/**
 * Compiles a file that may import `tokens.as.ts`.
 * @param change alters each source before it is compiled
 * @returns the code in base64 @throws {Error} with the compiler's message
 */
export async function compileScript (file, change = source => source) {
  const memory = ['--initialMemory', '4', '--maximumMemory', '320']
  const options = ['-O3', '--enable', 'simd', '--runtime', 'stub', '--noAssert', ...memory, '--outFile', 'out.wasm']
  const written = new Map()
  const read = name => {
    const path = name === 'main.ts' ? file : name.endsWith('tokens.as.ts') ? tokens : undefined
    return path === undefined ? null : change(readFileSync(path, 'utf8'))
  }
  const { error, stderr } = await asc.main(['main.ts', ...options], {
    readFile: read,
    writeFile: (name, contents) => written.set(name, contents),
    listFiles: () => []
  })
  if (error !== null) throw new Error(`${error.message}\n${stderr.toString()}`)
  return Buffer.from(written.get('out.wasm')).toString('base64')
}

/** @returns the text of `compiled.ts` */
export function printCompiled (name, code) {
  const lines = code.match(/.{1,110}/g).map(line => `  '${line}'`)
  return `/** WebAssembly in base64, compiled from \`${name}\` by \`npm run outline\`. */
export const compiled =
${lines.join(' +\n')}
`
}

const source = join(import.meta.dirname, 'nodes.as.ts')

/** @returns the code of `nodes.as.ts`, or of a change of it */
export const compileNodes = change => compileScript(source, change)

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, 'compiled.ts'), printCompiled('nodes.as.ts', await compileNodes()))
}
