import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n')

t.test('every link of a page to another one of the project leads there, and to a heading that is on it', async t => {
  t.ok(pages.includes('README.md'))
  const dead = pages.flatMap(page => linksOf(page).filter(link => !leadsThere(page, link)).map(link => `${page}: ${link}`))
  t.strictSame(dead, [])
})

function linksOf (page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter(link => !/^[a-z]+:/.test(link))
}

function leadsThere (page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const file = path === '' ? join(root, page) : join(root, dirname(page), path)
  return existsSync(file) && (heading === undefined || headingsOf(file).includes(heading))
}

/** As the common hosts of repositories name them. */
function headingsOf (file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)]
    .map(([, heading]) => heading!.toLowerCase().replace(/[^\p{L}\p{N} -]/gu, '').replaceAll(' ', '-'))
}
