import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'

/** One import or re-export of another file of the project; `value` unless it is for types alone. */
interface Import { readonly path: string, readonly value: boolean }

/** A source file, with its path relative to the folder it was read from. */
export interface Source {
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly tree: ts.SourceFile
}

/** Reads and parses every TypeScript file under a folder. */
export function readSources (root: string): Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .map(path => readSource(root, path))
}

/** Every node of a file that a test asks for, as `path:line`. */
export function places (source: Source, request: (node: ts.Node) => boolean): string[] {
  const found: string[] = []
  visit(source.tree, node => {
    if (request(node)) {
      found.push(`${source.path}:${source.tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
    }
  })
  return found
}

function readSource (root: string, path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Import[] = []
  visit(tree, node => {
    const { specifier, value } = importOf(node) ?? {}
    if (specifier?.startsWith('.')) imports.push({ path: resolve(root, path, specifier), value: value ?? true })
  })
  return { path, lines: text.trimEnd().split('\n').length, imports, tree }
}

function importOf (node: ts.Node): { specifier: string, value: boolean } | undefined {
  if (ts.isImportDeclaration(node)) {
    return {
      specifier: textOf(node.moduleSpecifier),
      value: !forTypes(node.importClause?.isTypeOnly, node.importClause?.namedBindings, node.importClause?.name)
    }
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return { specifier: textOf(node.moduleSpecifier), value: !forTypes(node.isTypeOnly, node.exportClause) }
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return { specifier: textOf(node.arguments[0]), value: true }
  }
  return undefined
}

function forTypes (whole: boolean | undefined, names?: ts.Node, byDefault?: ts.Node): boolean {
  if (whole) return true
  return byDefault === undefined && names !== undefined && (ts.isNamedImports(names) || ts.isNamedExports(names)) &&
    names.elements.length > 0 && names.elements.every(name => name.isTypeOnly)
}

function textOf (node: ts.Node | undefined): string {
  return node && ts.isStringLiteralLike(node) ? node.text : ''
}

function resolve (root: string, from: string, specifier: string): string {
  const path = normalize(join(dirname(from), specifier))
  const candidates = [path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx'), path]
  const found = candidates.find(candidate => existsSync(join(root, candidate)))
  if (found === undefined) throw new Error(`${from} imports ${specifier}, which does not exist`)
  return found
}

function visit (node: ts.Node, act: (node: ts.Node) => void): void {
  act(node)
  ts.forEachChild(node, child => visit(child, act))
}
