import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The root of the project. */
export const root = join(import.meta.dirname, '..', '..')

/** A block of a document of the project by the info string of its fence: `sh quickstart`. */
export function readBlock (document: string, title: string): string {
  const text = readFileSync(join(root, document), 'utf8')
  const start = text.indexOf(`\`\`\`${title}\n`)
  if (start < 0) throw new Error(`${document} has no block ${title}`)
  const body = text.indexOf('\n', start) + 1
  return text.slice(body, text.indexOf('```', body))
}

/** The commands of a shell block with this prefix, in order, without the comments after them. */
export function readCommands (document: string, title: string, prefix = ''): string[] {
  return readBlock(document, title)
    .split('\n')
    .filter(line => line !== '' && line.startsWith(prefix))
    .map(line => line.replace(/ +#.*$/, ''))
}
