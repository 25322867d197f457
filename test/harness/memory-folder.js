/**
 * Where tests keep their databases and files: in memory, where this machine has the room, since a run waits for the
 * disk thousands of times else.
 */
import { chmodSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'

const shared = '/dev/shm'
/** A run needs less than a tenth of it. */
const neededBytes = 6 * 2 ** 30

/**
 * Creates a folder in memory, for all users like the usual one: PostgreSQL runs as a user of its own.
 * @returns {string | undefined} none where there is too little memory, or where programs must not be run from it, which
 * tests do
 */
export function makeMemoryFolder () {
  if (!isFit()) return undefined
  const folder = mkdtempSync(join(shared, 'clinigate-test-'))
  chmodSync(folder, 0o1777)
  return folder
}

function isFit () {
  try {
    const { bavail, bsize } = statfsSync(shared)
    return (
      isProgramMemory(readFileSync('/proc/self/mounts', 'utf8')) && Math.min(bavail * bsize, freemem()) > neededBytes
    )
  } catch {
    return false
  }
}

/** A container's often forbids programs. */
function isProgramMemory (mounts) {
  const [, , type, options] =
    mounts
      .split('\n')
      .map(line => line.split(' '))
      .findLast(([, mountPoint]) => mountPoint === shared) ?? []
  return type === 'tmpfs' && !options.split(',').includes('noexec')
}
