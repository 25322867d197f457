import { readFileSync } from 'node:fs'

/** Several hundred modules are read at once at the start; databases and connections need theirs afterwards. */
const min = 512

/**
 * Refuses to go on where the process may open too few files: modules could not be loaded, and Node would call them
 * missing.
 * It must be called before anything large is imported.
 * @throws {Error} whose message says to a person what to raise
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
