import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import ts from 'typescript'
import type { ReadRequest } from '../src/backends/backend.js'
import { findNodes, readSources, type Source } from './harness/sources.js'

const routes = [
  'api/resources', 'api/passthrough', 'api/openapi', 'api/events', 'api/webhooks', 'jobs',
  'control-plane/dashboard', 'control-plane/admin-api', 'control-plane/sync'
]

/**
 * From the process down to what knows nothing but values. Imports run downwards or stay in their layer. A part is a
 * file or folder of
 * `src`; a file belongs to the longest part that its path begins with.
 */
const layers = [
  ['main', 'operator', 'operator/cli'],
  ['bootstrap'],
  ['app', 'http'],
  ['operator/server-check', 'operator/ownership-scan', ...routes],
  [
    'keys', 'limits', 'idempotency', 'jobs/model', 'record-input', 'tenant-guard', 'control-plane/store',
    'control-plane/outbox', 'observability', 'events', 'events/webhooks'
  ],
  ['backends', 'sandbox'],
  ['mappings', 'envelope', 'config', 'json', 'fhir', 'files', 'net', 'time'],
  ['client']
]

/** Files that the build makes. */
const generated = ['client/openapi.ts', 'client/resource-paths.ts']

/** Where the parts are put together, and so where time and backends come in. */
const wiring = ['main', 'operator', 'operator/cli', 'bootstrap', 'app', 'http']

const root = join(import.meta.dirname, '..')
const sources = readSources(join(root, 'src'))
const byPath = new Map(sources.map(source => [source.path, source]))
const parts = layers.flat().sort((a, b) => b.length - a.length)
const findPart = ({ path }: Source) =>
  parts.find(part => path.replace(/\.tsx?$/, '') === part || path.startsWith(`${part}/`))
const findLayer = (source: Source) => layers.findIndex(parts => parts.includes(findPart(source) ?? ''))
const isInParts = (...parts: string[]) => (source: Source) => parts.includes(findPart(source) ?? '')

/** Every import between two source files that breaks a rule, as `from → to`. */
function findViolations (rule: (from: Source, to: Source, value: boolean) => boolean): string[] {
  return sources.flatMap(from => from.imports.flatMap(({ path, value }) => {
    const to = byPath.get(path)
    return to && rule(from, to, value) ? [`${from.path} → ${to.path}`] : []
  }))
}

test('every source file belongs to a layer', async t => {
  t.ok(sources.length > 0)
  t.same(sources.filter(source => findLayer(source) === -1).map(source => source.path), [])
})

test('imports run downwards', async t => {
  t.same(findViolations((from, to) => findLayer(to) < findLayer(from)), [])
})

test('route folders do not know each other', async t => {
  t.same(
    findViolations(
      (from, to) => findPart(from) !== findPart(to) && isInParts(...routes)(from) && isInParts(...routes)(to)
    ),
    []
  )
})

test('the client stands alone: it needs nothing of the gateway, and only the command line is built on it', async t => {
  t.same(findViolations((from, to) => findPart(from) !== findPart(to) && isInParts('client')(from)), [])
  t.same(
    findViolations((from, to) => findPart(from) !== findPart(to) && isInParts('client')(to) && !isInParts('operator/cli')(from)),
    []
  )
})

test('only the tenant guard speaks to a backend; the wiring may build one', async t => {
  const maySpeak = isInParts('backends', 'tenant-guard', 'operator/server-check', 'operator/ownership-scan', ...wiring)
  t.same(findViolations((from, to, value) => value && findPart(to) === 'backends' && !maySpeak(from)), [])
})

test('no write of a tenant\'s record bypasses sendWrite, which writes its event down', async t => {
  // @ts-expect-error sendRequest takes nothing that may change a record, or all else here says nothing.
  const write: ReadRequest = { method: 'POST', path: 'Patient', body: '{}' }
  t.equal(write.method, 'POST')
  t.same(findImporters('tenant-guard/tenant-context.ts', 'sendUnrecorded'), [
    'tenant-guard/access-events.ts',
    'tenant-guard/async-operation.ts',
    'tenant-guard/export/native-export.ts',
    'tenant-guard/writes/send-write.ts'
  ])
  t.same(findImporters('tenant-guard/async-operation.ts', 'kickOff'), [
    'tenant-guard/export/native-export.ts',
    'tenant-guard/import/native-import.ts'
  ])
  t.same(findImporters('tenant-guard/retry.ts', 'withRetry').filter(path => !path.startsWith('operator/')), [
    'tenant-guard/export/export.ts'
  ])
  const serving = sources.filter(source => !isInParts('backends', 'operator', ...wiring)(source) &&
    !/^operator\/|^tenant-guard\/(tenant-context|retry|capabilities).ts$/.test(source.path))
  t.same(serving.flatMap(source => findNodes(source, isSendAccess)), [])
})

test('no file imports itself through others', async t => {
  t.same(findCycles(path => path), [])
})

test('no folder imports itself through the others of its parent', async t => {
  t.same(findCycles(path => findPart(byPath.get(path)!)!), [])
  for (const folder of ['tenant-guard/', 'mappings/']) t.same(findCycles(path => path.split('/')[1]!, folder), [])
})

test('no file is longer than 300 lines', async t => {
  t.same(
    sources
      .filter(source => source.lines > 300 && !generated.includes(source.path))
      .map(source => `${source.path}: ${source.lines}`),
    []
  )
})

test('the declaration of a resource decides nothing: it has no if', async t => {
  const declarations = sources.filter(source => source.path.startsWith('mappings/resources/'))
  t.same(declarations.flatMap(source => findNodes(source, ts.isIfStatement)), [])
})

test('the environment is read by the configuration, the process and the command line alone', async t => {
  const others = sources.filter(source => !isInParts('config', 'main', 'operator/cli')(source))
  t.same(others.flatMap(source => findNodes(source, isEnvironment)), [])
})

test('the time comes in as a value: only the wiring looks at the clock', async t => {
  const others = sources.filter(source => !isInParts(...wiring)(source))
  t.same(others.flatMap(source => findNodes(source, isClock)), [])
})

test('every export is imported somewhere', async t => {
  const folders = ['src', 'test', 'bench'].map(folder => ({ folder, sources: readSources(join(root, folder), /\.(tsx?|js)$/) }))
  const imported = new Set(folders.flatMap(({ folder, sources }) => sources.flatMap(({ imports }) =>
    imports.flatMap(({ path, names }) => names.map(name => `${join(folder, path)} ${name}`)))))
  const isImported = (path: string, name: string) => ['*', name].some(name => imported.has(`src/${path} ${name}`))
  // What the client exports is for those who install it, and AssemblyScript is imported as what it is compiled to.
  const own = sources.filter(({ path }) => !path.startsWith('client/') && !path.endsWith('.as.ts'))
  t.same(own.flatMap(({ path, exports }) =>
    exports.filter(name => !isImported(path, name)).map(name => `${path}: ${name}`)), [])
})

test('a folder is a step of the request or a thing of the domain, never a drawer', async t => {
  const drawers = /(^|\/)(utils?|helpers?|common|types|misc|shared)\//
  t.same(sources.filter(source => drawers.test(source.path)).map(source => source.path), [])
})

test('docs/architecture.md says what each folder does, and names no other', async t => {
  const [, table = ''] = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split('| folder of `src` |')
  const rows = table.split('\n\n', 1)[0]!.split('\n').map(row => row.split('|')[1] ?? '')
  const named = rows.flatMap(row => [...row.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!))
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
  t.strictSame(named.sort(), folders.sort())
})

/** The files that import a name of another, or all of it. */
function findImporters (path: string, name: string): string[] {
  return sources
    .filter(({ imports }) => imports.some(each => each.path === path && ['*', name].some(one => each.names.includes(one))))
    .map(source => source.path)
    .sort()
}

/** Whether `send` is taken from a backend: by `backend.send`, `context.backend.send` or `{ send } = backend`. */
function isSendAccess (node: ts.Node): boolean {
  const isBackend = (from: ts.Node | undefined) => from !== undefined && /(^|\.)\w*[bB]ackend\)?!?$/.test(from.getText())
  if (ts.isPropertyAccessExpression(node)) return node.name.text === 'send' && isBackend(node.expression)
  if (ts.isElementAccessExpression(node)) return isBackend(node.expression)
  if (!ts.isBindingElement(node) || (node.propertyName ?? node.name).getText() !== 'send') return false
  const { parent: { parent } } = node
  return (ts.isVariableDeclaration(parent) && isBackend(parent.initializer)) ||
    (ts.isParameter(parent) && parent.type?.getText() === 'Backend') ||
    (ts.isBindingElement(parent) && (parent.propertyName ?? parent.name).getText() === 'backend')
}

function isEnvironment (node: ts.Node): boolean {
  return ts.isPropertyAccessExpression(node) && node.getText() === 'process.env'
}

function isClock (node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.getText() === 'Date.now'
  return (
    (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
    node.expression.getText() === 'Date' &&
    !node.arguments?.length
  )
}

/**
 * Each cycle of places below a folder as `a → b → a`. Types count too: what needs each other to be understood is one
 * knot.
 */
function findCycles (toNode: (path: string) => string, folder = ''): string[] {
  const needed = new Map<string, Set<string>>()
  for (const { path, imports } of sources.filter(source => source.path.startsWith(folder))) {
    const others = imports.filter(to => byPath.has(to.path) && to.path.startsWith(folder)).map(to => toNode(to.path))
    needed.set(
      toNode(path),
      new Set([...(needed.get(toNode(path)) ?? []), ...others.filter(other => other !== toNode(path))])
    )
  }
  const found: string[] = []
  const done = new Set<string>()
  const walk = (node: string, stack: readonly string[]): void => {
    if (stack.includes(node)) {
      found.push([...stack.slice(stack.indexOf(node)), node].join(' → '))
    } else if (!done.has(node)) {
      for (const next of needed.get(node) ?? []) walk(next, [...stack, node])
      done.add(node)
    }
  }
  for (const node of needed.keys()) walk(node, [])
  return found
}
