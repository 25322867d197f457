/** The first version of Node that ends a process in better-sqlite3 12 while it collects garbage: https://github.com/nodejs/node/issues/65446 */
const tooNew = 24

/**
 * Refuses a version of Node on which the process would die at some moment; `engines` in package.json says the same to npm, which only warns.
 * @throws {Error} whose message says to a person which one to use
 */
export function requireSupportedNode (version: string = process.versions.node): void {
  if (Number.parseInt(version) >= tooNew) throw new Error(`Node ${tooNew} and later crash in the database driver; use Node 20 or 22`)
}
