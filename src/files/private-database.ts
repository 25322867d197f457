import { chmodSync, closeSync, openSync } from 'node:fs'

const ownerAlone = 0o600

/**
 * Lets no other user of the machine read a SQLite database, whatever the umask and the directory allow; one that is not
 * there is made, empty. What cannot be made or changed is left to SQLite, which says what stands in the way.
 * @returns the path, to open
 */
export function privateDatabase (file: string): string {
  if (file === ':memory:') return file
  try {
    closeSync(openSync(file, 'wx', ownerAlone))
  } catch {
    // It is there already. Opening and closing it here would take away the locks that this process has on it.
    for (const part of [file, `${file}-wal`, `${file}-shm`]) narrow(part)
  }
  return file
}

function narrow (file: string): void {
  try {
    chmodSync(file, ownerAlone)
  } catch {
    // It is not there, or is another user's, who decides.
  }
}
