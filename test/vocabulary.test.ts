import { join } from 'node:path'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'tap'
import ts from 'typescript'

/** Private words that no comment of src uses; CONTRIBUTING.md and the field have others for them. */
const noComment = ['errand', 'anew', 'midst', 'wish', 'wishes', 'beside', 'surroundings', 'trouble', 'door']

/** Private words that are no part of an identifier in src. */
const noIdentifier = ['errand', 'wish', 'acquaintance', 'whoever', 'nobody', 'somebody', 'midst', 'surroundings']

const src = join(import.meta.dirname, '../src')
const generated = /^client\/(openapi|resource-paths)\.ts$/
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(path => /\.tsx?$/.test(path) && !generated.test(path))

const wordsOf = (name: string) => name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z\d]+/)

/** The comments and identifiers of a source text. */
function read (text: string, jsx: boolean): { comments: string[], identifiers: string[] } {
  const source = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true, jsx ? ts.ScriptKind.TSX : ts.ScriptKind.TS)
  const comments = new Map<number, string>()
  const identifiers: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isIdentifier(node)) identifiers.push(node.text)
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      if (node.kind !== ts.SyntaxKind.JsxText) comments.set(pos, text.slice(pos, end))
    }
    node.getChildren(source).forEach(visit)
  }
  visit(source)
  return { comments: [...comments.values()], identifiers }
}

/** The private words of a source text. */
function privateWords (text: string, jsx = false): string[] {
  const { comments, identifiers } = read(text, jsx)
  return [
    ...comments.flatMap(wordsOf).filter(word => noComment.includes(word)),
    ...identifiers.flatMap(wordsOf).filter(word => noIdentifier.includes(word))
  ]
}

test('comments and names of the source use the words of the field', async t => {
  t.ok(files.length > 0)
  t.same(files.flatMap(path =>
    privateWords(readFileSync(join(src, path), 'utf8'), path.endsWith('x')).map(word => `${path}: ${word}`)), [])
})

test('a private word in a comment or name is found', async t => {
  t.same(privateWords('/** An errand. */\nconst myWish = 1 // done'), ['errand', 'wish'])
  t.same(privateWords("const text = 'an errand'"), [])
})
