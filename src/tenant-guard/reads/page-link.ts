/**
 * A datastore's link to the next page, relative to its base URL; undefined if it leads anywhere else. The origin of the
 * request that follows comes from the configuration, never from the link.
 * @param paths where pages may be, below the base URL; the base itself always may
 */
export function pageLink (link: string, baseUrl: string, paths: readonly string[]): string | undefined {
  const base = `${baseUrl}/`
  if (!URL.canParse(link, base)) return undefined
  const { origin, username, password, pathname, search } = new URL(link, base)
  const { origin: baseOrigin, pathname: basePath } = new URL(base)
  if (origin !== baseOrigin || username !== '' || password !== '') return undefined
  const path = `${pathname}/`.startsWith(basePath) ? pathname.slice(basePath.length) : undefined
  return path === '' || (path !== undefined && paths.includes(path)) ? path + search : undefined
}

/** Where the pages of a search are. */
export const searchPaths = (type: string): string[] => [type, `${type}/_search`]
