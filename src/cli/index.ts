#!/usr/bin/env node
import { userInfo } from 'node:os'
import { run } from './run.js'

// Whoever reads the output may have seen enough of it.
process.stdout.on('error', error => { if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error })

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  user: userName(),
  now: () => new Date(),
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  streams: process
})

function userName (): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that no account has.
    return `uid ${process.getuid?.()}`
  }
}
