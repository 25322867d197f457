import { tenantSystem } from '../harness/fhir-server.js'
import type { Attack } from './attacks/attack.js'
import type { Call, Outcome } from './attack-sender.js'
import { publicUrl, type AttackWorld } from './attack-world.js'

/**
 * Texts by which a datastore shows what and where it is; names as words of their own, since a cursor has any letters.
 */
const insides =
  /\bHAPI\b|hapi-?fhir|\bJetty\b|ca\.uhn|java\.|org\.h2|Hibernate|_getpages=|SQLITE|\bat \S+ \(\S+:\d+:\d+\)|node_modules/

const responseHeaders = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-disposition',
  'content-location',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'last-modified',
  'location',
  'retry-after',
  'vary',
  'www-authenticate',
  'x-content-type-options',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
  'x-timestamp'
])

const callHeaders = new Set([
  'accept',
  'authorization',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'host',
  'if-match',
  'if-none-exist',
  'prefer',
  'x-request-id'
])

/** The problems with the response to one request; empty when there are none. */
export function findProblems (world: AttackWorld, attack: Attack, outcome: Outcome): string[] {
  const fullText = `${outcome.status}\n${JSON.stringify(outcome.headers)}\n${outcome.text}`
  const readings = [fullText, unescapeJson(fullText), decodePercent(fullText)]
  const isShown = (text: string): boolean => readings.some(reading => reading.includes(text))
  const allowed = [attack.status].flat()
  return [
    ...(allowed.includes(outcome.status)
      ? []
      : [`answered ${outcome.status} in place of ${allowed.join(' or ')}: ${outcome.text.slice(0, 300)}`]),
    ...selectSecrets(world, attack, outcome)
      .filter(isShown)
      .map(secret => `shows ${nameOf(world, secret)}`),
    ...(isShown(world.names.backend!) && !decodePercent(outcome.sent).includes(world.names.backend!)
      ? ['shows the URL of the datastore']
      : []),
    ...(insides.test(fullText) ? [`shows the inside: ${insides.exec(fullText)![0]}`] : []),
    ...(attack.shows ?? [])
      .filter(text => !isShown(text))
      .map(text => `lacks ${nameOf(world, text)}: ${outcome.text.slice(0, 300)}`),
    ...(attack.hides ?? []).filter(isShown).map(text => `shows ${nameOf(world, text)}`),
    ...Object.keys(outcome.headers)
      .filter(name => !responseHeaders.has(name))
      .map(name => `has the header ${name}`),
    ...['location', 'content-location']
      .filter(name => !(outcome.headers[name] ?? publicUrl).startsWith(publicUrl))
      .map(name => `leads elsewhere by ${name}`),
    ...outcome.calls.flatMap(call => checkCall(world, attack, call))
  ]
}

/**
 * A name that the sender sent is no secret to it; the comparison with an unknown name shows that it is not confirmed
 * either.
 */
function selectSecrets ({ secrets, names }: AttackWorld, { as }: Attack, { sent }: Outcome): readonly string[] {
  if (as === 'victim') return []
  const decodedRequest = decodePercent(sent)
  return secrets.filter(
    secret =>
      !sent.includes(secret) &&
      !decodedRequest.includes(secret) &&
      !(as === 'live' && [names.liveMark, names.liveOnly, names.liveTwo].includes(secret))
  )
}

/**
 * The problems with a request to the datastore: every search has the sender's tag, and no header is the sender's own.
 */
function checkCall ({ names }: AttackWorld, { as }: Attack, { method, path, headers, body }: Call): string[] {
  const tag = `_tag=${tenantSystem}|${as === 'victim' ? names.theirTenant : names.ownTenant}`
  const decoded = decodePercent(path)
  const isSearch =
    /^\/fhir\/[A-Z][A-Za-z]+(?:\/_search)?(?:\?|$)/.test(path) && (method === 'GET' || path.includes('_search'))
  return [
    ...(isSearch && !decoded.includes(tag) ? [`searches without the tag: ${method} ${decoded}`] : []),
    ...(isSearch && method === 'POST' && !decodePercent(body).includes(tag)
      ? [`searches by form without the tag in the form: ${decoded}`]
      : []),
    ...(headers['if-none-exist'] !== undefined && !decodePercent(headers['if-none-exist']).includes(tag)
      ? ['creates on a condition without the tag']
      : []),
    ...Object.entries(headers)
      .filter(([name, value]) => !callHeaders.has(name) || value.includes('evil.example'))
      .map(([name]) => `sends the datastore the header ${name}`),
    ...(path.includes('evil.example') ? ['sends the datastore a foreign address'] : [])
  ]
}

/** A response without what differs from request to request; `variant` is the name that the sender used. */
export function formatComparable ({ status, headers, text, calls }: Outcome, variant: string): string {
  // What was made has an id and a time of its own.
  if (status === 201 || text.includes('"status":"201 ')) return `${calls.length} calls [${status}]`
  const { 'x-request-id': _, 'x-timestamp': __, date: ___, ...others } = headers
  const steady = Object.entries(others).filter(([name]) => !name.startsWith('x-ratelimit-')).sort()
  const plain = JSON.stringify([
    status,
    steady,
    text.replace(/"(?:requestId|timestamp|rateLimit\w+)":(?:"[^"]*"|\d+|null)/g, '')
  ])
  return `${calls.length} calls ${variant === '' ? plain : plain.replaceAll(variant, '(named)')}`
}

function nameOf ({ names }: AttackWorld, text: string): string {
  return Object.entries(names).find(([, value]) => value === text)?.[0] ?? text
}

function unescapeJson (text: string): string {
  return text
    .replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replaceAll('\\/', '/')
}

function decodePercent (text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
}
