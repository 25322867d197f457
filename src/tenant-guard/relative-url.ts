import type { TenantContext } from './tenant-context.js'

/** A URL from the datastore, relative to its base URL; undefined if it leads anywhere else. */
export function relativeToBase (url: string, { backend: { baseUrl } }: TenantContext): string | undefined {
  const base = `${baseUrl}/`
  if (!URL.canParse(url, base)) return undefined
  const { origin, username, password, pathname, search } = new URL(url, base)
  const { origin: baseOrigin, pathname: basePath } = new URL(base)
  const isBelow =
    origin === baseOrigin &&
    username === '' &&
    password === '' &&
    pathname.startsWith(basePath) &&
    pathname.length > basePath.length
  return isBelow ? pathname.slice(basePath.length) + search : undefined
}
