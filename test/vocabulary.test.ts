import { join } from 'node:path'
import { test } from 'tap'
import ts from 'typescript'
import { readSources } from './harness/sources.js'

/** Private words that no comment, test title, name or file uses; CONTRIBUTING.md and the field have others for them. */
const privateWords = [
  'acquaintance', 'anew', 'beside', 'desk', 'door', 'errand', 'fewest', 'midst', 'nobody', 'patience', 'patiently', 'somebody',
  'surroundings', 'told', 'trouble', 'troubles', 'whoever', 'wish', 'wishes'
]

/** Words of texts that are no names, since the field has its own for what they stood for. */
const noNames = [...privateWords, 'apart', 'asked', 'demand', 'kept', 'twin', 'twins']

const root = join(import.meta.dirname, '..')
const generated = ['client/openapi.ts', 'client/resource-paths.ts']
const sources = ['src', 'test', 'bench'].flatMap(folder =>
  readSources(join(root, folder), /\.(?:tsx?|js)$/)
    .filter(({ path }) => !generated.includes(path))
    .map(source => ({ ...source, path: `${folder}/${source.path}` })))
  .filter(({ path }) => path !== 'test/vocabulary.test.ts')

const wordsOf = (name: string) => name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z\d]+/)
const isTitle = ({ expression, arguments: [title] }: ts.CallExpression, source: ts.SourceFile): boolean =>
  title !== undefined && /(?:^|\.)test$/.test(expression.getText(source))

/** The comments, test titles and names of a source file. */
function readTexts (source: ts.SourceFile): { texts: string[], names: string[] } {
  const { text } = source
  const texts = new Map<number, string>()
  const names: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.push(node.text)
    if (ts.isCallExpression(node) && isTitle(node, source)) texts.set(node.pos, node.arguments[0]!.getText(source))
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      if (node.kind !== ts.SyntaxKind.JsxText) texts.set(pos, text.slice(pos, end))
    }
    node.getChildren(source).forEach(visit)
  }
  visit(source)
  return { texts: [...texts.values()], names }
}

/** The private words of a source file and of its name. */
function findPrivateWords (source: ts.SourceFile, path = ''): string[] {
  const { texts, names } = readTexts(source)
  return [
    ...texts.flatMap(wordsOf).filter(word => privateWords.includes(word)),
    ...[...names, path].flatMap(wordsOf).filter(word => noNames.includes(word))
  ]
}

test('comments, test titles, names and files use the words of the field', async t => {
  t.ok(sources.length > 0)
  t.same(sources.flatMap(({ path, tree }) => findPrivateWords(tree, path).map(word => `${path}: ${word}`)), [])
})

test('a private word in a comment, title, name or path is found', async t => {
  const parse = (text: string) => ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true)
  t.same(findPrivateWords(parse('/** An errand. */\nconst myWish = 1 // done')), ['errand', 'wish'])
  t.same(findPrivateWords(parse("t.test('nobody reads it', f)")), ['nobody'])
  t.same(findPrivateWords(parse('const a = 1'), 'src/whole-desk.ts'), ['desk'])
  t.same(findPrivateWords(parse("const text = 'an errand'")), [])
})
