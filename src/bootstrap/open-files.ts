import { readFileSync } from 'node:fs'

/** Several hundred modules are read concurrently at the start; databases and connections need files afterwards. */
const min = 512

/**
 * Requires that the process may open enough files: otherwise modules could not be loaded, and Node would call them
 * missing.
 * It must be called before anything large is imported.
 * @throws {Error} whose message says which limit to raise
 */
export function requireOpenFiles (max: number = openFilesAllowed()): void {
  if (max < min) {
    throw new Error(
      `this process may have only ${max} files open, and needs at least ${min}; raise its limit (ulimit -n, LimitNOFILE)`
    )
  }
}

/** Node has raised the soft limit to the hard one by now. Systems without this file have no such low limits. */
function openFilesAllowed (): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
