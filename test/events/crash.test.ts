/** `npx tap --timeout=3600 test/events/crash.test.ts --test-arg=--kills=50` kills the process more often. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildMain, getProcessEnvironment } from '../harness/built.js'

const main = buildMain()
const kills = Number(process.argv.find(arg => arg.startsWith('--kills='))?.slice('--kills='.length) ?? 3)

interface Running { readonly child: ChildProcess, readonly url: string, readonly output: string }

async function start (t: Test, directory: string): Promise<Running> {
  const child = spawn(process.execPath, [main], {
    env: { ...getProcessEnvironment(), HOST: '127.0.0.1', PORT: '0', CLINIGATE_DATA: directory, CLINIGATE_CONFIG: join(directory, 'config.json') },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for await (const chunk of child.stdout!) {
    output += chunk
    const [, url] = /listens on (\S+)\n/.exec(output) ?? []
    if (url !== undefined) break
  }
  const [, url] = /listens on (\S+)\n/.exec(output) ?? []
  if (url === undefined) throw new Error('the process has ended')
  return { child, url, output }
}

async function kill ({ child }: Running): Promise<void> {
  const closed = once(child, 'exit')
  child.kill('SIGKILL')
  await closed
}

t.test('after kills during writes, each acknowledged change has its event, once', { timeout: 600_000 }, async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-events-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ events: { enabled: true }, overload: { eventLoopDelayMs: null } }))
  const acknowledged = new Set<string>()
  let key: string | undefined
  for (let round = 0; round <= kills; round++) {
    const running = await start(t, directory)
    key ??= /svc_live_\w+/.exec(running.output)?.[0]
    const headers = { 'x-api-key': key!, 'content-type': 'application/json' }
    const state = { isEnded: false }
    const write = async () => {
      while (!state.isEnded) {
        const response = await fetch(`${running.url}/v1/patients`, {
          method: 'POST', headers, body: '{ "firstName": "Ada", "lastName": "Byron" }'
        }).catch(() => undefined)
        const body = response?.status === 201 ? await response.json().catch(() => undefined) as any : undefined
        if (body !== undefined) acknowledged.add(body.data.id)
      }
    }
    const writers = Array.from({ length: 8 }, write)
    const before = acknowledged.size
    while (acknowledged.size < before + 10) await pause(20)
    await pause(Math.random() * 500)
    if (round < kills) {
      await kill(running)
      state.isEnded = true
      await Promise.all(writers)
      continue
    }
    state.isEnded = true
    await Promise.all(writers)
    const missing = new Set(acknowledged)
    const seen: string[] = []
    for (let cursor = '', tries = 0; missing.size > 0 && tries < 200; tries++) {
      const { data } = await (await fetch(`${running.url}/v1/events?count=100&wait=5${cursor}`, { headers })).json() as any
      cursor = `&cursor=${data.cursor}`
      for (const event of data.data) {
        seen.push(event.data.id)
        missing.delete(event.data.id)
      }
    }
    t.equal(missing.size, 0, `of ${acknowledged.size} acknowledged changes none is without its event`)
    t.equal(new Set(seen).size, seen.length, 'and none has two')
    await kill(running)
  }
})
