/** `npm run outline`: compiles `outline.as.ts` into `compiled.ts`, which a test compares with what it would write. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import asc from 'assemblyscript/asc'

const files = { 'outline.ts': 'outline.as.ts', 'tokens.as.ts': 'tokens.as.ts' }

/** @returns the code in base64, of the source as it is or after a change @throws {Error} with what the compiler says */
export async function compileOutline (change = source => source) {
  const memory = ['--initialMemory', '4', '--maximumMemory', '320']
  const options = ['-O3', '--enable', 'simd', '--runtime', 'stub', '--noAssert', ...memory, '--outFile', 'outline.wasm']
  const written = new Map()
  const { error, stderr } = await asc.main(['outline.ts', ...options], {
    readFile: name => name in files ? change(readFileSync(join(import.meta.dirname, files[name]), 'utf8')) : null,
    writeFile: (name, contents) => written.set(name, contents),
    listFiles: () => []
  })
  if (error !== null) throw new Error(`${error.message}\n${stderr.toString()}`)
  return Buffer.from(written.get('outline.wasm')).toString('base64')
}

/** @returns the text of `compiled.ts` */
export function printCompiled (code) {
  const lines = code.match(/.{1,110}/g).map(line => `  '${line}'`)
  return `/** WebAssembly in base64, compiled from \`outline.as.ts\` by \`npm run outline\`. */
export const compiled =
${lines.join(' +\n')}
`
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, 'compiled.ts'), printCompiled(await compileOutline()))
}
