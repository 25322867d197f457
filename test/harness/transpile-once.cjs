/**
 * How tap reads TypeScript: a file is transpiled the first time that it is read, and taken from node_modules/.cache from then on.
 * A test that starts a gateway reads some 600 files, which takes the compiler longer than most of the tests take.
 * ts-node calls this because tsconfig.json says so: https://typestrong.org/ts-node/docs/transpilers#third-party-transpilers
 */
const { createHash, randomUUID } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { extname, join } = require('node:path')
const ts = require('typescript')

const cache = join(__dirname, '..', '..', 'node_modules', '.cache', 'transpile-once')

exports.create = ({ service }) => {
  // All that changes what is made of a source, and no path, so that each checkout makes the same of it.
  const { target, jsx, jsxImportSource, verbatimModuleSyntax } = service.config.options
  const compilerOptions = { target, jsx, jsxImportSource, verbatimModuleSyntax, module: ts.ModuleKind.ESNext, sourceMap: true, inlineSources: true }
  const settings = [ts.version, compilerOptions]
  return {
    transpile (source, { fileName }) {
      const name = createHash('sha256').update(JSON.stringify([settings, extname(fileName), source])).digest('hex')
      return kept(name) ?? keep(name, ts.transpileModule(source, { fileName, compilerOptions, reportDiagnostics: true }))
    }
  }
}

function kept (name) {
  try {
    return JSON.parse(readFileSync(join(cache, name), 'utf8'))
  } catch {
    // Not there yet, or cut short with the machine: it is made again.
  }
}

function keep (name, { outputText, sourceMapText, diagnostics }) {
  // What is in error is to be said each time that it is read.
  if (diagnostics.length > 0) return { outputText, sourceMapText, diagnostics }
  mkdirSync(cache, { recursive: true })
  // Several processes may write the same file; each reads it whole or not at all.
  const unfinished = join(cache, `${name}.${randomUUID()}`)
  writeFileSync(unfinished, JSON.stringify({ outputText, sourceMapText }))
  renameSync(unfinished, join(cache, name))
  return { outputText, sourceMapText }
}
