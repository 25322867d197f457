#!/usr/bin/env node
import { userInfo } from 'node:os'
import { run } from './run.js'

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
