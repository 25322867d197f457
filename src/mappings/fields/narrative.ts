import { text } from '../datatypes/primitives.js'
import { datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'

const namespace = 'http://www.w3.org/1999/xhtml'
const plainDiv = new RegExp(`^<div xmlns="${namespace}">(?:<p>)?((?:[^<]|<br ?/>)*)(?:</p>)?</div>$`)
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br/>' }
const characters = new Map([['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', '\'']])

const isXhtml = (words: string): boolean => /^<div[\s>]/.test(words)

function divOf (words: string): string {
  if (isXhtml(words)) return words.replace(/^<div(?![^>]*\sxmlns=)/, `<div xmlns="${namespace}"`)
  return `<div xmlns="${namespace}">${words.replace(/\r\n?/g, '\n').replace(/[&<>\n]/g, character => escapes[character]!)}</div>`
}

/** Plain text where the div holds nothing else, otherwise the div as it is. */
function textOf (div: string): string | undefined {
  const plain = plainDiv.exec(div.trim())?.[1]
  if (plain === undefined) return div.trim() || undefined
  return (
    plain
      .replace(/\n/g, ' ')
      .replace(/<br ?\/>/g, '\n')
      .replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, decoded)
      .trim() || undefined
  )
}

function decoded (entity: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return characters.get(name) ?? entity
  const point = decimal === undefined ? parseInt(hex!, 16) : Number(decimal)
  return point <= 0x10FFFF ? String.fromCodePoint(point) : entity
}

/** A Narrative: in and out plain text, or XHTML that begins with its div. */
export const narrative = datatype<string>({
  schema: { ...text.codec.schema, 'x-expects': 'text, or XHTML in one <div>' },
  kind: 'string',
  accept: words => textOf(divOf(words))!,
  read: stored => isElement(stored) && typeof stored.div === 'string' ? textOf(stored.div) : undefined,
  write: words => ({ status: 'additional', div: divOf(words) })
})
