/**
 * The driver of SQLite, better-sqlite3 13, crashes older versions while it is loaded. `engines` in package.json has the
 * same minimum for npm, which only warns.
 */
const oldest = [22, 12] as const

/**
 * Refuses a version of Node that is too old; it must be called before the driver is imported.
 * @throws {Error} whose message names the version to use
 */
export function requireSupportedNode (version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
    throw new Error(`Node ${oldest.join('.')} or later is needed, such as Node 24; this is Node ${version}`)
  }
}
