import { text } from '../datatypes/primitives.js'
import { datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'

const namespace = 'http://www.w3.org/1999/xhtml'
const plainDiv = new RegExp(`^<div xmlns="${namespace}">(?:<p>)?((?:[^<]|<br ?/>)*)(?:</p>)?</div>$`)
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br/>' }
const xmlEntities = new Map([['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', '\'']])

const startsWithDiv = (words: string): boolean => /^<div[\s>]/.test(words)

function toDiv (words: string): string {
  if (startsWithDiv(words)) return words.replace(/^<div(?![^>]*\sxmlns=)/, `<div xmlns="${namespace}"`)
  return `<div xmlns="${namespace}">${words.replace(/\r\n?/g, '\n').replace(/[&<>\n]/g, character => escapes[character]!)}</div>`
}

/** Plain text where the div holds nothing else, otherwise the div unchanged. */
function toPlainText (div: string): string | undefined {
  const plain = plainDiv.exec(div.trim())?.[1]
  if (plain === undefined) return div.trim() || undefined
  return (
    plain
      .replace(/\n/g, ' ')
      .replace(/<br ?\/>/g, '\n')
      .replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, decodeEntity)
      .trim() || undefined
  )
}

function decodeEntity (entity: string, ...[decimal, hex, name]: ReadonlyArray<string | undefined>): string {
  if (name !== undefined) return xmlEntities.get(name) ?? entity
  const point = decimal === undefined ? parseInt(hex!, 16) : Number(decimal)
  return point <= 0x10FFFF ? String.fromCodePoint(point) : entity
}

/** A Narrative: in and out plain text, or XHTML that begins with its div. */
export const narrative = datatype<string>({
  schema: { ...text.codec.schema, 'x-expects': 'text, or XHTML in one <div>' },
  kind: 'string',
  accept: words => toPlainText(toDiv(words))!,
  read: stored => isElement(stored) && typeof stored.div === 'string' ? toPlainText(stored.div) : undefined,
  write: words => ({ status: 'additional', div: toDiv(words) })
})

/**
 * The part of XHTML that a Narrative may have (R4 invariants txt-1 and txt-2): well-formed, no scripts, forms or
 * frames, no events. http://hl7.org/fhir/R4/narrative.html#xhtml
 */

const elements = new Set(
  `a abbr acronym address b bdo big blockquote br caption cite code col colgroup dd del dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i
  img ins kbd li ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var`.split(/\s+/)
)

const attributes = new Set(
  `abbr align alt axis border cellpadding cellspacing char charoff cite class colspan datetime dir frame headers height href
  hreflang id lang longdesc name nowrap rel rev rowspan rules scope space span src start style summary title type valign width xml:lang xmlns`.split(
      /\s+/
    )
)

const comment = '<!--(?:(?!--)[^])*-->'
const tag = '<(\\/?)([a-z][a-z0-9]*)((?:\\s+[A-Za-z:-]+\\s*=\\s*(?:"[^"<]*"|\'[^\'<]*\'))*)\\s*(\\/?)>'
const entity = '&(?:amp|lt|gt|quot|apos|#\\d+|#x[0-9a-fA-F]+);'
const token = new RegExp(`${comment}|${tag}|${entity}|[^<&]+`, 'y')
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

/**
 * Whether a text is one div of what a Narrative may have, with something to read in it. Stricter than R4: links and
 * styles load nothing.
 */
export function isNarrative (xhtml: string): boolean {
  return isDiv(xhtml, token, isHarmless)
}

/** The named characters of XHTML next to those of XML. */
const characters =
  `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil
  sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH
  Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil
  egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml
  OElig oelig Scaron scaron Yuml fnof circ tilde Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau
  Upsilon Phi Chi Psi Omega alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi
  omega thetasym upsih piv ensp emsp thinsp zwnj zwj lrm rlm ndash mdash lsquo rsquo sbquo ldquo rdquo bdquo dagger Dagger bull hellip permil prime
  Prime lsaquo rsaquo oline frasl euro image weierp real trade alefsym larr uarr rarr darr harr crarr lArr uArr rArr dArr hArr forall part exist empty
  nabla isin notin ni prod sum minus lowast radic prop infin ang and or cap cup int there4 sim cong asymp ne equiv le ge sub sup nsub sube supe oplus
  otimes perp sdot lceil rceil lfloor rfloor lang rang loz spades clubs hearts diams`
    .trim()
    .split(/\s+/)

const anyTag =
  '<(\\/?)((?:[A-Za-z_][\\w.-]*:)?[a-z][a-z0-9]*)((?:\\s+[\\w:.-]+\\s*=\\s*(?:"[^"<]*"|\'[^\'<]*\'))*)\\s*(\\/?)>'
const anyToken = new RegExp(
  `${comment}|<!\\[CDATA\\[(?:(?!\\]\\]>)[^])*\\]\\]>|${anyTag}|${entity}|&(?:${characters.join('|')});|[^<&\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F]+`,
  'y'
)

/**
 * Whether a text is a div of R4's elements that an XML parser reads, with something to read in it; without events, and
 * with any link.
 */
export function isXhtml (text: string): boolean {
  return isDiv(
    text.replace(/^\s*<\?xml\s[^<>]*\?>/, '').trim(),
    anyToken,
    ({ name, value }) => !/^on/i.test(name) && !/^\s*javascript:/i.test(value)
  )
}

interface Attribute { readonly name: string, readonly value: string }

function isDiv (xhtml: string, tokens: RegExp, isAllowed: (attribute: Attribute) => boolean): boolean {
  const open: string[] = []
  let hasContent = false
  for (let at = 0; at < xhtml.length; at = tokens.lastIndex) {
    tokens.lastIndex = at
    const match = tokens.exec(xhtml)
    if (match === null || (open.length === 0 && (at > 0 || getLocalName(match[2]) !== 'div'))) return false
    const [matched, slash, name, list = '', empty] = match
    hasContent ||=
      getLocalName(name) === 'img' || (name === undefined && !matched.startsWith('<!--') && matched.trim() !== '')
    if (name === undefined) continue
    if (
      slash === '/'
        ? open.pop() !== name || list !== ''
        : !elements.has(getLocalName(name)!) || !hasAllowedAttributes(list, isAllowed)
    ) { return false }
    if (slash !== '/' && empty !== '/') open.push(name)
  }
  return open.length === 0 && hasContent
}

const getLocalName = (name: string | undefined): string | undefined => name?.slice(name.indexOf(':') + 1)

function hasAllowedAttributes (list: string, isAllowed: (attribute: Attribute) => boolean): boolean {
  if (list === '') return true
  const found = [...list.matchAll(attribute)].map(([, name, double, single]) => ({
    name: name!,
    value: double ?? single!
  }))
  return new Set(found.map(({ name }) => name)).size === found.length && found.every(isAllowed)
}

const links = new Set(['cite', 'href', 'longdesc', 'src'])

/** To a page, a mail address, a telephone, an image inside, or somewhere relative: nothing that could run. */
const harmlessLink = /^(?:https?:|mailto:|tel:|urn:|data:image\/(?:gif|jpeg|png);|[^:&]*(?:[/?#]|$))/i

/** A style that loads something, or hides in escapes that it does. */
const loadingStyle = /&#|\\|url\s*\(|expression\s*\(|@import/i

function isHarmless ({ name, value }: Attribute): boolean {
  if (links.has(name)) return harmlessLink.test(value)
  return attributes.has(name) && !(name === 'style' && loadingStyle.test(value))
}
