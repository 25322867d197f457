import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8'
})
  .trim()
  .split('\n')
  .filter(file => existsSync(join(root, file)))
const pages = files.filter(file => file.endsWith('.md'))

/** What readers of the pages make. */
const made = new Set(['src/mappings/resources/flags.ts', 'docker/secrets'])

t.test('every link of a page to another one of the project leads there, and to an existing heading', async t => {
  t.ok(pages.includes('README.md'))
  const dead = pages.flatMap(page =>
    linksOf(page)
      .filter(link => !isValidLink(page, link))
      .map(link => `${page}: ${link}`)
  )
  t.strictSame(dead, [])
})

t.test('every file or folder that a page names exists', async t => {
  const known = [...files, ...new Set(files.map(dirname))]
  const named = pages.flatMap(page => listPaths(page).map(path => ({ page, path })))
  t.ok(named.length > 100)
  const missing = named.filter(({ path }) => !made.has(path) && !known.some(file => file === path || file.endsWith(`/${path}`)))
  t.strictSame(missing.map(({ page, path }) => `${page}: ${path}`), [])
})

t.test('a package holds the files that its pages link to, and of the build nothing without a source', async t => {
  const packed = listPackedFiles()
  const missing = packed.filter(file => file.endsWith('.md')).flatMap(page => linksOf(page)
    .map(link => link.split('#')[0]!)
    .filter(path => path !== '' && !packed.includes(normalize(join(dirname(page), path))))
    .map(path => `${page}: ${path}`))
  t.strictSame(missing, [])
  const built = packed.filter(file => file.startsWith('dist/'))
  t.ok(
    built.includes('dist/main.js') &&
      built.includes('dist/client/index.d.ts') &&
      built.includes('dist/control-plane/dashboard/assets/dashboard.css')
  )
  t.strictSame(built.filter(file => !hasSource(file)), [])
})

/** The files that `npm pack` would include. */
function listPackedFiles (): string[] {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 16_777_216
  })
  const [{ files }] = JSON.parse(output) as [{ readonly files: ReadonlyArray<{ readonly path: string }> }]
  return files.map(({ path }) => path)
}

function hasSource (file: string): boolean {
  const source = join(root, 'src', file.slice('dist/'.length))
  const base = source.replace(/(\.d\.ts|\.js(\.map)?)$/, '')
  return [source, `${base}.ts`, `${base}.tsx`].some(existsSync)
}

function linksOf (page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter(link => !/^[a-z]+:/.test(link))
}

/**
 * The paths that a page names in backticks: a path below a folder of the project, up to the first `*`, or the path of a
 * source, or its end.
 */
function listPaths (page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
  return [...text.matchAll(/`((?:src|test|config|docker|bench|deploy|docs)\/[^`\s]+|[^`\s]+\.tsx?)`/g)]
    .map(([, path]) => path!.replace(/\/([^/]*\*.*)?$/, ''))
}

function isValidLink (page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const file = path === '' ? join(root, page) : join(root, dirname(page), path)
  return existsSync(file) && (heading === undefined || listHeadings(file).includes(heading))
}

/** As the common hosts of repositories name them. */
function listHeadings (file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)]
    .map(([, heading]) => heading!.toLowerCase().replace(/[^\p{L}\p{N} -]/gu, '').replaceAll(' ', '-'))
}
