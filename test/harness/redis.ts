/** A real Redis server of the tests' own: in a temporary directory, on a free port of loopback, without persistence. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { findFreePort } from './free-port.js'

/** A running server. */
interface RedisServer {
  readonly url: string
  readonly stop: () => Promise<void>
  /** Stops responding without ending: connections stay open. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Starts it again, empty, on the same port. */
  readonly start: () => Promise<void>
}

/** Occurs nowhere else in logged text. */
export const redisPassword = 'tops3cret-of-the-tests'

/**
 * Starts a server, which ends with the test; a file that needs it is named `*.redis.test.ts`. Throws when there is none
 * on this machine.
 */
export async function startRedis (t: Test): Promise<RedisServer> {
  const program = (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'redis-server'))
    .find(existsSync)
  if (program === undefined) {
    throw new Error(
      'no redis-server on the PATH: install it (apt-get install redis-server), or leave these tests out with npm run test:fast'
    )
  }
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-redis-'))
  const port = await findFreePort()
  const url = `redis://:${redisPassword}@127.0.0.1:${port}`
  let server: ChildProcess | undefined
  const start = async () => {
    server = spawn(
      program,
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        directory,
        '--requirepass',
        redisPassword
      ],
      { stdio: 'ignore' }
    )
    await waitUntilReady(url)
  }
  const stop = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  t.teardown(async () => {
    await stop()
    rmSync(directory, { recursive: true, force: true })
  })
  await start()
  return { url, stop, start, freeze: () => { server!.kill('SIGSTOP') }, thaw: () => { server!.kill('SIGCONT') } }
}

async function waitUntilReady (url: string): Promise<void> {
  const redis = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  redis.on('error', () => {})
  await redis.ping()
  redis.disconnect()
}
