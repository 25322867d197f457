import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const sizeMegabytes = 64
const block = Buffer.alloc(64 * 1024, 1)

/**
 * A file system of its own for a directory, which can really be full: writes fail with ENOSPC. It requires the
 * permission to mount.
 * Its `close` unmounts it. Without the permission `why` gives the reason instead.
 * @returns {{ fill: () => void, empty: () => void, close: () => void } | { why: string }}
 */
export function mountSmallDisk (directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { status, stderr, error } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${sizeMegabytes}m,mode=700`, 'tmpfs', directory],
    { encoding: 'utf8' }
  )
  if (status !== 0) return { why: (stderr ?? error?.message ?? '').trim() }
  const file = openSync(join(directory, 'filler'), 'w')
  return {
    fill: () => {
      // The last block is written as far as there is room.
      try {
        while (writeSync(file, block) > 0);
      } catch (error) {
        if (error.code !== 'ENOSPC') throw error
      }
    },
    empty: () => ftruncateSync(file, 0),
    close: () => {
      closeSync(file)
      spawnSync('umount', ['--lazy', directory])
    }
  }
}
