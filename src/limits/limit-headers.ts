import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import type {} from '../envelope/request-metadata.js'
import { getSecondsUntil } from './monthly-quota.js'
import { isBillable } from './usage.js'

/**
 * Adds the remaining per-minute limit and monthly quota to every response, in our own headers and those of the IETF
 * draft: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * `X-Quota-Billable` says whether the request counts as one of live data, and `X-Sandbox-…` has the quota of test keys.
 */
export const limitHeaders = fp(async app => {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.rate !== undefined || request.quota !== undefined) {
      reply.headers(buildLimitHeaders(request, reply.statusCode))
    }
    done(null, payload)
  })
}, { name: 'limit-headers', dependencies: ['identity'], fastify: '5.x' })

/** All headers in one object, since setting them one by one is slower. */
function buildLimitHeaders (
  { rate, quota, arrivedAt, caller }: Pick<FastifyRequest, 'rate' | 'quota' | 'arrivedAt' | 'caller'>,
  status: number
): Record<string, string | number> {
  const headers: Record<string, string | number> = {}
  // List members of RFC 9651.
  const policies: string[] = []
  const states: string[] = []
  if (rate !== undefined) {
    const { limit, remaining, resetSeconds, windowSeconds } = rate
    headers['x-ratelimit-limit'] = limit
    headers['x-ratelimit-remaining'] = remaining
    headers['x-ratelimit-reset'] = resetSeconds
    policies.push(`"minute";q=${limit};w=${windowSeconds}`)
    states.push(`"minute";r=${remaining};t=${resetSeconds}`)
  }
  if (quota !== undefined) {
    const {
      limit,
      taken: { used },
      end,
      isFree
    } = quota
    const remaining = Math.max(0, limit - used)
    headers['x-quota-limit'] = limit
    headers['x-quota-used'] = used
    headers['x-quota-remaining'] = remaining
    headers['x-quota-reset'] = end.text
    if (used > limit) headers['x-quota-overage'] = used - limit
    headers['x-quota-billable'] = String(caller.mode === 'live' && !isFree && isBillable(status))
    if (caller.mode === 'test') {
      headers['x-sandbox-limit'] = limit
      headers['x-sandbox-used'] = used
      headers['x-sandbox-remaining'] = remaining
    }
    policies.push(`"month";q=${limit}`)
    states.push(`"month";r=${remaining};t=${getSecondsUntil(end, arrivedAt)}`)
  }
  headers['ratelimit-policy'] = policies.join(', ')
  headers.ratelimit = states.join(', ')
  return headers
}
