/** How a datastore knows the gateway. */
export type Authentication =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic', readonly user: string, readonly password: string }
  | { readonly kind: 'bearer', readonly token: string }

/** The header `authorization` of the next request; asked for each one, so that a token may be renewed meanwhile. */
export type Authorization = () => string | undefined

/** The header that a configured authentication stands for. */
export function authorizationOf (authentication: Authentication): Authorization {
  const header = headerOf(authentication)
  return () => header
}

function headerOf (authentication: Authentication): string | undefined {
  switch (authentication.kind) {
    case 'none': return undefined
    case 'basic': return `Basic ${Buffer.from(`${authentication.user}:${authentication.password}`).toString('base64')}`
    case 'bearer': return `Bearer ${authentication.token}`
  }
}
