/**
 * The part of XHTML that a Narrative may have (R4 invariants txt-1 and txt-2): well-formed, no scripts, forms or frames,
 * no events. http://hl7.org/fhir/R4/narrative.html#xhtml
 */

const elements = new Set(`a abbr acronym address b bdo big blockquote br caption cite code col colgroup dd del dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i
  img ins kbd li ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var`.split(/\s+/))

const attributes = new Set(`abbr align alt axis border cellpadding cellspacing char charoff cite class colspan datetime dir frame headers height href
  hreflang id lang longdesc name nowrap rel rev rowspan rules scope space span src start style summary title type valign width xml:lang xmlns`.split(/\s+/))

const comment = '<!--(?:(?!--)[^])*-->'
const tag = '<(\\/?)([a-z][a-z0-9]*)((?:\\s+[A-Za-z:-]+\\s*=\\s*(?:"[^"<]*"|\'[^\'<]*\'))*)\\s*(\\/?)>'
const entity = '&(?:amp|lt|gt|quot|apos|#\\d+|#x[0-9a-fA-F]+);'
const token = new RegExp(`${comment}|${tag}|${entity}|[^<&]+`, 'y')
const attribute = /([A-Za-z:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

/** Whether a text is one div of what a Narrative may have, with something to read in it. */
export function isNarrative (xhtml: string): boolean {
  const open: string[] = []
  let isSaying = false
  for (let at = 0; at < xhtml.length; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(xhtml)
    if (match === null || (open.length === 0 && (at > 0 || match[2] !== 'div'))) return false
    const [whole, slash, name, list = '', empty] = match
    isSaying ||= name === 'img' || (name === undefined && !whole.startsWith('<!--') && whole.trim() !== '')
    if (name === undefined) continue
    if (slash === '/' ? open.pop() !== name || list !== '' : !elements.has(name) || !areAllowed(list)) return false
    if (slash !== '/' && empty !== '/') open.push(name)
  }
  return open.length === 0 && isSaying
}

function areAllowed (list: string): boolean {
  const found = [...list.matchAll(attribute)].map(([, name, double, single]) => ({ name: name!, value: double ?? single! }))
  return new Set(found.map(({ name }) => name)).size === found.length && found.every(isHarmless)
}

const links = new Set(['cite', 'href', 'longdesc', 'src'])

/** To a page, a mail address, a telephone, an image inside, or somewhere relative: nothing that could run. */
const harmlessLink = /^(?:https?:|mailto:|tel:|urn:|data:image\/(?:gif|jpeg|png);|[^:&]*(?:[/?#]|$))/i

/** A style that loads something, or hides in escapes that it does. */
const loadingStyle = /&#|\\|url\s*\(|expression\s*\(|@import/i

function isHarmless ({ name, value }: { readonly name: string, readonly value: string }): boolean {
  if (links.has(name)) return harmlessLink.test(value)
  return attributes.has(name) && !(name === 'style' && loadingStyle.test(value))
}
