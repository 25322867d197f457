const nowhere = 'http://dashboard.invalid'

/** Where a sign-in leads: the page that was asked for, when it is one of the dashboard's own, and else its beginning. */
export function nextPath (wanted: string): string {
  if (!URL.canParse(wanted, nowhere)) return '/dashboard'
  const { origin, pathname, search } = new URL(wanted, nowhere)
  return origin === nowhere && pathname.startsWith('/dashboard/') ? pathname + search : '/dashboard'
}
