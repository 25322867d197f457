import { readFileSync } from 'node:fs'

/**
 * The driver of SQLite, better-sqlite3 13, crashes older versions while it is loaded. `engines` in package.json has the
 * same minimum for npm, which only warns.
 */
const oldestNode = [22, 12] as const

/**
 * Refuses a version of Node that is too old; it must be called before the driver is imported.
 * @throws {Error} whose message names the version to use
 */
export function requireSupportedNode (version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new Error(`Node ${oldestNode.join('.')} or later is needed, such as Node 24; this is Node ${version}`)
  }
}

/** Several hundred modules are read concurrently at the start; databases and connections need files afterwards. */
const minOpenFiles = 512

/**
 * Requires that the process may open enough files: otherwise modules could not be loaded, and Node would call them
 * missing.
 * It must be called before anything large is imported.
 * @throws {Error} whose message says which limit to raise
 */
export function requireOpenFiles (max: number = readMaxOpenFiles()): void {
  if (max < minOpenFiles) {
    throw new Error(
      `this process may have only ${max} files open, and needs at least ${minOpenFiles}; raise its limit (ulimit -n, LimitNOFILE)`
    )
  }
}

/** Node has raised the soft limit to the hard one by now. Systems without this file have no such low limits. */
function readMaxOpenFiles (): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
