import { join } from 'node:path'
import { built } from './built.js'

const { catalog } = await import(join(built, 'envelope', 'failures.js'))

/** Lists where a response violates the contract; empty when it conforms. */
export function findContractViolations ({ status, headers, text }) {
  let body
  try {
    body = JSON.parse(text)
  } catch {
    return [`${status}: the body is no JSON`]
  }
  const { meta = {} } = body
  const entry = Object.hasOwn(catalog, body.code ?? '') ? catalog[body.code] : undefined
  const rules = {
    'meta is whole':
      typeof meta.requestId === 'string' &&
      !Number.isNaN(Date.parse(meta.timestamp)) &&
      ['rateLimitTotal', 'rateLimitRemaining', 'rateLimitReset'].every(
        name => meta[name] === null || Number.isInteger(meta[name])
      ),
    'the status is told twice alike': meta.status === status && headers.get('x-request-id') === meta.requestId,
    'a success has data':
      status >= 400 || (body.data !== null && typeof body.data === 'object' && body.code === undefined),
    'a failure is one of the catalog':
      status < 400 ||
      (entry?.status === status &&
        entry.title === body.error &&
        body.data === null &&
        body.message !== '' &&
        Array.isArray(body.issues)),
    'a time to wait is named': ![429, 503].includes(status) || /^\d+$/.test(headers.get('retry-after') ?? ''),
    'nothing of the inside is shown': !/127\.0\.0\.1|10\.1\.2\.3|<html|\.js:\d+|ECONN|undici/.test(text)
  }
  return Object.entries(rules)
    .filter(([, isMet]) => !isMet)
    .map(([rule]) => `${status} ${body.code ?? ''}: not kept: ${rule}`)
}
