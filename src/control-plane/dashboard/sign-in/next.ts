import type { FastifyRequest } from 'fastify'

const nowhere = 'http://dashboard.invalid'

/**
 * Where a sign-in leads: the page that was requested, when it is one of the dashboard's own, and else its beginning.
 */
export function sanitizeNextPath (requested: string): string {
  if (!URL.canParse(requested, nowhere)) return '/dashboard'
  const { origin, pathname, search } = new URL(requested, nowhere)
  return origin === nowhere && pathname.startsWith('/dashboard/') ? pathname + search : '/dashboard'
}

/** The page that a form was sent from, by the Referer header; undefined if the browser sends none. */
export function findFormPage ({ headers: { referer = '' } }: FastifyRequest): string | undefined {
  if (!URL.canParse(referer)) return undefined
  const { pathname, search } = new URL(referer)
  return sanitizeNextPath(pathname + search)
}
