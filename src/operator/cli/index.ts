#!/usr/bin/env node
import { userInfo } from 'node:os'
import { requireOpenFiles, requireSupportedNode } from '../../bootstrap/requirements.js'

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // The reader of the output may have closed it.
  if (code === 'EPIPE') return
  process.stderr.write(
    `clinigate: the output cannot be written (${code}). Changes that the command made stay; revoke a key or token whose secret was not written\n`
  )
  process.exit(2)
})

try {
  requireSupportedNode()
  requireOpenFiles()
  const { run } = await import('./run.js')
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    user: getUserName(),
    now: () => new Date(),
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
    streams: process
  })
} catch (error) {
  process.stderr.write(`clinigate: ${(error as Error).message}\n`)
  process.exitCode = 1
}

function getUserName (): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that no account has.
    return `uid ${process.getuid?.()}`
  }
}
