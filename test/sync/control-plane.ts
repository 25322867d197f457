import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Test } from 'tap'
import { loadConfig } from '../../src/config/load.js'
import type { ControlStore } from '../../src/control-plane/store/store.js'
import { buildLogOptions } from '../../src/http/log.js'
import { KeyCache } from '../../src/keys/cache.js'
import type { ChangeFeed } from '../../src/keys/change-feed.js'
import { Follower } from '../../src/keys/follower.js'
import { Replica } from '../../src/keys/replica.js'
import { openService, type Service } from '../../src/bootstrap/service.js'

/** A directory that goes with the test. */
export function createTemporaryDirectory (t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-link-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** The same variables for a process that shares the machine with many others: its load is not tested. */
export function withoutOverloadLimits (t: Test, environment: Record<string, string>): Record<string, string> {
  const configFile = environment.CLINIGATE_CONFIG
  const file = join(createTemporaryDirectory(t), 'calm.json')
  writeFileSync(
    file,
    JSON.stringify({
      overload: { eventLoopDelayMs: null, heapPercent: null },
      ...(configFile !== undefined && JSON.parse(readFileSync(configFile, 'utf8')))
    })
  )
  return { ...environment, CLINIGATE_CONFIG: file }
}

/** A log in memory. */
export function createMemoryLog () {
  const lines: string[] = []
  return {
    lines,
    log: pino(
      buildLogOptions('trace'),
      new Writable({
        write (chunk, _, done) {
          lines.push(String(chunk))
          done()
        }
      })
    )
  }
}

/** A service in this process, in the role of its variables. */
export async function startService (
  t: Test,
  environment: Record<string, string>,
  now = () => new Date()
): Promise<Service & { readonly url: string; readonly lines: readonly string[] }> {
  const { lines, log } = createMemoryLog()
  const variables = { CLINIGATE_DATA: createTemporaryDirectory(t), ...withoutOverloadLimits(t, environment) }
  const service = await openService(loadConfig(variables), { environment: variables, version: '0.0.0-test', now, log })
  t.after(() => service.close())
  return { ...service, lines, url: await service.app.listen({ host: '127.0.0.1', port: 0 }) }
}

/** A control plane in this process, with the token of a gateway and an organization. */
export async function startControlPlane (t: Test, environment: Record<string, string> = {}, now?: () => Date) {
  const service = await startService(t, { CLINIGATE_ROLE: 'control', ...environment }, now)
  const control: ControlStore = service.control!
  const { secret: token, tokenId } = await control.tokens.create({ name: 'a gateway', role: 'gateway' }, 'test')
  const { tenantId } = await control.organizations.create({ name: 'clinic', plan: 'pro' }, 'test')
  const createKey = (draft: { expiresAt?: Date } = {}) =>
    control.keys.create({ tenantId, mode: 'test', name: 'a key', ...draft }, 'test')
  return { ...service, control, token, tokenId, tenantId, createKey }
}

/** A server whose responses the test defines. */
export async function startStandIn (
  t: Test,
  handler: (request: IncomingMessage, response: ServerResponse) => void
): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A copy that follows a feed, with its log lines. */
export function startFollower (t: Test, feed: ChangeFeed, replica = new Replica(':memory:')) {
  const { lines, log } = createMemoryLog()
  const cache = new KeyCache({ lookup: hash => replica.find(hash) })
  const follower = new Follower({ feed, replica, cache, now: () => new Date(), log })
  t.after(async () => { await follower.stop(); replica.close() })
  return { replica, follower, lines }
}
