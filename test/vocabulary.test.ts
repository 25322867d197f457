import { join } from 'node:path'
import { test } from 'tap'
import ts from 'typescript'
import { readSources } from './harness/sources.js'

/** Private words that no comment of src uses; CONTRIBUTING.md and the field have others for them. */
const noComment = ['errand', 'anew', 'midst', 'wish', 'wishes', 'beside', 'surroundings', 'trouble', 'door']

/** Private words that are no part of an identifier in src. */
const noIdentifier = ['errand', 'wish', 'acquaintance', 'whoever', 'nobody', 'somebody', 'midst', 'surroundings']

const generated = ['client/openapi.ts', 'client/resource-paths.ts']
const sources = readSources(join(import.meta.dirname, '../src')).filter(({ path }) => !generated.includes(path))

const splitWords = (name: string) => name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z\d]+/)

/** The comments and identifiers of a source file. */
function read (source: ts.SourceFile): { comments: string[], identifiers: string[] } {
  const { text } = source
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

/** The private words of a source file. */
function findPrivateWords (source: ts.SourceFile): string[] {
  const { comments, identifiers } = read(source)
  return [
    ...comments.flatMap(splitWords).filter(word => noComment.includes(word)),
    ...identifiers.flatMap(splitWords).filter(word => noIdentifier.includes(word))
  ]
}

test('comments and names of the source use the words of the field', async t => {
  t.ok(sources.length > 0)
  t.same(sources.flatMap(({ path, tree }) => findPrivateWords(tree).map(word => `${path}: ${word}`)), [])
})

test('a private word in a comment or name is found', async t => {
  const parse = (text: string) => ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true)
  t.same(findPrivateWords(parse('/** An errand. */\nconst myWish = 1 // done')), ['errand', 'wish'])
  t.same(findPrivateWords(parse("const text = 'an errand'")), [])
})
