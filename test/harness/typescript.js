/**
 * `node --import ./test/harness/typescript.js`: lets a process read TypeScript, and JavaScript's names for it, as the
 * tests do. A file is transpiled the first time that it is read, and taken from node_modules/.cache from then on. A
 * test that starts a gateway reads some 600 files, which takes the compiler longer than most of the tests take; the
 * compiler itself is loaded only for what is not there yet. The hooks run in the thread that imports, since a message
 * to another one for each file costs more than reading it; what V8 compiled is cached too. See
 * https://nodejs.org/docs/latest-v24.x/api/module.html#synchronous-hooks-accepted-by-moduleregisterhooks
 */
import { hash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'node_modules', '.cache', 'transpile-once')
const resolved = join(root, 'node_modules', '.cache', 'resolve-once')

const { target, jsx, jsxImportSource, verbatimModuleSyntax } = JSON.parse(
  readFileSync(join(root, 'tsconfig.json'), 'utf8')
).compilerOptions
const options = { target, jsx, jsxImportSource, verbatimModuleSyntax, module: 'esnext', inlineSourceMap: true }
const settings = JSON.stringify([
  process.versions.amaro,
  JSON.parse(readFileSync(require.resolve('typescript/package.json'), 'utf8')).version,
  options
])

const isTypeScript = url => /\.tsx?$/.test(url)
const isModuleOfPackage = (url, { format }) =>
  format === 'module' && url.startsWith('file:') && url.includes('/node_modules/')

/**
 * An import names the file that the build makes; here it is resolved to its source. The files of a folder import the
 * same ones, and a gateway's files import 7,000 times.
 */
function resolve (specifier, context, next) {
  const { parentURL = '', conditions } = context
  const key = `${conditions.includes('require') ? 'require' : 'import'} ${parentURL.slice(0, parentURL.lastIndexOf('/') + 1)} ${specifier}`
  const isOfPackage = parentURL.includes('/node_modules/') || !/^(?:\.\.?\/|file:)/.test(specifier)
  const known = isOfPackage ? packages.known : sources
  if (!Object.hasOwn(known, key)) {
    known[key] = (isOfPackage ? undefined : findSource(specifier, parentURL)) ?? next(specifier, context)
    if (isOfPackage) packages.isNew = true
  }
  return { ...known[key], shortCircuit: true }
}

const sources = {}

function findSource (specifier, parentURL) {
  if (!specifier.endsWith('.js')) return undefined
  const made = new URL(specifier, parentURL).href
  for (const url of [made.replace(/js$/, 'ts'), made.replace(/js$/, 'tsx')]) {
    if (existsSync(fileURLToPath(url))) return { url, format: 'module' }
  }
  return undefined
}

/** What imports of and among packages lead to: Node.js looks at a dozen files for each, in every process. */
function readKnownPackages () {
  // npm writes it whenever it changes a package.
  const { mtimeMs, size } = statSync(join(root, 'node_modules', '.package-lock.json'))
  const file = join(resolved, hash('sha256', JSON.stringify([root, process.version, mtimeMs, size])))
  const packages = { known: {}, isNew: false }
  try {
    packages.known = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // The first process of all.
  }
  process.on('exit', () => {
    if (packages.isNew) keep(file, JSON.stringify(packages.known))
  })
  return packages
}

function load (url, context, next) {
  if (isTypeScript(url)) return { source: transpileCached(fileURLToPath(url)), format: 'module', shortCircuit: true }
  if (isModuleOfPackage(url, context)) {
    return { source: withoutMap(readFileSync(fileURLToPath(url), 'utf8')), format: 'module', shortCircuit: true }
  }
  return next(url, context)
}

/** Node.js would read the map of each file of a package, in every process, for stacks that say no more by it. */
const withoutMap = source => source.replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n')

function transpileCached (fileName) {
  const source = readFileSync(fileName, 'utf8')
  // All that changes the output of a source, and no folder, so that each checkout shares it.
  const file = join(cache, hash('sha256', `${settings}\n${basename(fileName)}\n${source}`))
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return keep(file, stripTypes(fileName, source) ?? transpile(fileName, source))
  }
}

/**
 * The source with blanks in place of its types: each line and column stays, so that no process has to read a map for
 * its stacks.
 * @returns undefined for syntax that must be transpiled: pages, properties among parameters, and `using`, which Node 22
 * does not know
 */
function stripTypes (fileName, source) {
  if (fileName.endsWith('.tsx') || /\busing \w+ =/.test(source)) return undefined
  const { emitWarning } = process
  // The warning that it is experimental would clutter the output of the tests.
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } catch {
    return undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

/** @throws {SyntaxError} each time that it is read */
function transpile (fileName, source) {
  const ts = require('typescript')
  const { options: compilerOptions } = ts.convertCompilerOptionsFromJson(options, root)
  const { outputText, diagnostics } = ts.transpileModule(source, { fileName, compilerOptions, reportDiagnostics: true })
  if (diagnostics.length === 0) return outputText
  throw new SyntaxError(
    ts.formatDiagnostics(diagnostics, {
      getCanonicalFileName: name => name,
      getCurrentDirectory: () => root,
      getNewLine: () => '\n'
    })
  )
}

/** Several processes may write the same file; each reads it whole or not at all. */
function keep (file, text) {
  mkdirSync(dirname(file), { recursive: true })
  const unfinished = `${file}.${randomUUID()}`
  writeFileSync(unfinished, text)
  renameSync(unfinished, file)
  return text
}

const packages = readKnownPackages()
enableCompileCache(join(root, 'node_modules', '.cache', 'compiled'))
registerHooks({ resolve, load })
