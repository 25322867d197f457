import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'

/** One import or re-export of another file of the project; `value` unless it is for types alone. */
interface Import {
  readonly path: string
  readonly value: boolean
  /** As the other file exports them; `*` where all of it is imported. */
  readonly names: readonly string[]
}

/** A source file, with its path relative to the folder it was read from. */
export interface Source {
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  /** The names that it exports itself. */
  readonly exports: readonly string[]
  readonly tree: ts.SourceFile
}

/** Reads and parses every TypeScript file under a folder, or the files with other endings. */
export function readSources (root: string, endings = /\.tsx?$/): Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => endings.test(path) && !path.endsWith('.d.ts') && !path.includes('/target/'))
    .map(path => readSource(root, path))
}

/** Every node of a file that matches, as `path:line`. */
export function findNodes (source: Source, matches: (node: ts.Node) => boolean): string[] {
  const found: string[] = []
  visit(source.tree, node => {
    if (matches(node)) {
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
    if (!specifier?.startsWith('.')) return
    imports.push({ path: resolve(root, path, specifier), value: value ?? true, names: listImportedNames(node) })
  })
  return { path, lines: text.trimEnd().split('\n').length, imports, exports: listExportedNames(tree), tree }
}

function importOf (node: ts.Node): { specifier: string, value: boolean } | undefined {
  if (ts.isImportDeclaration(node)) {
    return {
      specifier: getLiteralText(node.moduleSpecifier),
      value: !isForTypesOnly(node.importClause?.isTypeOnly, node.importClause?.namedBindings, node.importClause?.name)
    }
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return {
      specifier: getLiteralText(node.moduleSpecifier),
      value: !isForTypesOnly(node.isTypeOnly, node.exportClause)
    }
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return { specifier: getLiteralText(node.arguments[0]), value: true }
  }
  return undefined
}

function listImportedNames (node: ts.Node): string[] {
  const bindings = ts.isImportDeclaration(node)
    ? node.importClause?.namedBindings
    : ts.isExportDeclaration(node) ? node.exportClause : undefined
  if (bindings === undefined || !('elements' in bindings)) return ['*']
  return bindings.elements.map(({ propertyName, name }) => (propertyName ?? name).text)
}

function listExportedNames (tree: ts.SourceFile): string[] {
  return tree.statements.flatMap(statement => {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : []
    if (!modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (!ts.isVariableStatement(statement)) return [(statement as ts.DeclarationStatement).name?.getText() ?? '']
    return statement.declarationList.declarations.map(({ name }) => name.getText())
  })
}

function isForTypesOnly (isClauseTypeOnly: boolean | undefined, names?: ts.Node, byDefault?: ts.Node): boolean {
  if (isClauseTypeOnly) return true
  return byDefault === undefined && names !== undefined && (ts.isNamedImports(names) || ts.isNamedExports(names)) &&
    names.elements.length > 0 && names.elements.every(name => name.isTypeOnly)
}

function getLiteralText (node: ts.Node | undefined): string {
  return node && ts.isStringLiteralLike(node) ? node.text : ''
}

function resolve (root: string, from: string, specifier: string): string {
  const path = normalize(join(dirname(from), specifier))
  // A built file stands for its source.
  const sourcePath = path.replace(/^((?:\.\.\/)*)dist\//, '$1src/')
  // AssemblyScript names a file without its ending.
  const names = [sourcePath.replace(/\.js$/, '.ts'), sourcePath.replace(/\.js$/, '.tsx'), sourcePath, path]
  const candidates = [...names, `${sourcePath}.ts`]
  const found = candidates.find(candidate => existsSync(join(root, candidate)))
  if (found === undefined) throw new Error(`${from} imports ${specifier}, which does not exist`)
  return found
}

function visit (node: ts.Node, act: (node: ts.Node) => void): void {
  act(node)
  ts.forEachChild(node, child => visit(child, act))
}
