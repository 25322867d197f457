import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ChangeEvent } from '../../src/events/event.js'
import { EventLog } from '../../src/events/log.js'

// A file size limit simulates a full disk: it must cause an error, and not end the process.
process.on('SIGXFSZ', () => {})

const owner = { tenantId: 'org-a', mode: 'live', plan: 'pro' } as const
const created = [{ kind: 'created', type: 'Patient' }] as const
const buildCreated = (id: string) => [{ kind: 'created', type: 'Patient', id, version: '1' }] as const
const now = () => new Date()

function createFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-event-log-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The directory that a process killed now leaves behind. */
function simulateKill (t: Test, folder: string): string {
  const copy = createFolder(t)
  cpSync(folder, copy, { recursive: true })
  return copy
}

async function open (t: Test, folder: string, maxBytes = 1e9) {
  const logged: string[] = []
  const log = new EventLog({
    file: join(folder, 'events.db'),
    maxBytes,
    now,
    log: { info: () => {}, warn: () => {}, error: (_: unknown, text?: string) => { logged.push(text ?? '') } }
  })
  t.teardown(() => log.close())
  await log.open()
  const begin = async () => await log.createRecorder({ owner, requestId: 'request-1' }).begin(created)
  const change = async (id: string) => await (await begin()).made(buildCreated(id))
  /** The records of all events that the control plane has yet to take; it takes them. */
  const takeEvents = async () => {
    const ids: string[] = []
    for (let batch = await log.nextBatch(); batch !== undefined; batch = await log.nextBatch()) {
      ids.push(...batch.lines.map(({ resourceId }: ChangeEvent) => resourceId))
      await log.settle({ number: batch.number, batchId: batch.batchId })
    }
    return ids
  }
  const listUnknown = async () => (await log.listUnresolved(100)).map(([, { requestId }]) => requestId)
  return { log, begin, change, takeEvents, listUnknown, logged }
}

const findJournal = (folder: string) =>
  join(folder, readdirSync(folder).filter(name => name.endsWith('.journal')).sort().at(-1)!)
const listBroken = (folder: string) => readdirSync(folder).filter(name => name.includes('.broken-'))

t.test('a killed process leaves each event and each change without an outcome, and no other', async t => {
  const folder = createFolder(t)
  const { begin, change } = await open(t, folder)
  await change('p1')
  ;(await begin()).refused()
  await begin()
  await change('p2')
  for (const isTaken of [false, true]) {
    const next = await open(t, simulateKill(t, folder))
    if (isTaken) await next.log.readState()
    t.strictSame(await next.listUnknown(), ['request-1'])
    t.strictSame(await next.takeEvents(), ['p1', 'p2'])
    await next.change('p3')
    t.strictSame(await next.takeEvents(), ['p3'])
  }
})

t.test('a partial line, and lines that a power failure damaged, lose no event', async t => {
  const folder = createFolder(t)
  const { change } = await open(t, folder)
  for (const id of ['p1', 'p2', 'p3']) await change(id)
  const torn = simulateKill(t, folder)
  const line = readFileSync(findJournal(torn), 'utf8').split('\n')[1]!
  appendFileSync(findJournal(torn), line.slice(0, 40))
  const afterTorn = await open(t, torn)
  t.strictSame(await afterTorn.takeEvents(), ['p1', 'p2', 'p3'])
  t.strictSame(listBroken(torn), [], 'as after any failed write')

  const damaged = simulateKill(t, folder)
  const text = readFileSync(findJournal(damaged), 'utf8')
  // The first intent is zeros, and one event has another id than it was written with.
  const [first = ''] = text.split('\n')
  writeFileSync(findJournal(damaged), text.replace(first, '\0'.repeat(first.length)).replace('"resourceId":"p2"', '"resourceId":"p9"'))
  const afterDamage = await open(t, damaged)
  t.strictSame(await afterDamage.takeEvents(), ['p1', 'p3'], 'an event without its intent is one; another one is not made up')
  t.strictSame(await afterDamage.listUnknown(), ['request-1'], 'what became of the change is asked')
  t.equal(listBroken(damaged).length, 1, 'the damaged file stays')
})

t.test('writes are rejected while the disk is full, and no event is lost once there is room', async t => {
  const folder = createFolder(t)
  const { log, begin, change, takeEvents, listUnknown } = await open(t, folder)
  await change('p1')
  const open1 = await begin()
  const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`])
  // Part of a line fits.
  limit(String(readFileSync(findJournal(folder)).length + 100))
  try {
    await t.rejects(begin(), { code: 'BACKEND_UNAVAILABLE' })
    await t.rejects(open1.made(buildCreated('p2')), { code: 'BACKEND_UNAVAILABLE' })
    t.equal(log.isFailing, true)
  } finally {
    limit('unlimited')
  }
  await change('p3')
  t.equal(log.isFailing, false)
  t.strictSame(await takeEvents(), ['p1', 'p3'])
  t.equal(log.unresolved, 1)
  const [[id, intent] = []] = await log.listUnresolved(10)
  await log.conclude(id!, intent!, buildCreated('p2'))
  t.strictSame(await takeEvents(), ['p2'])
  t.strictSame(await listUnknown(), [])
  const next = await open(t, simulateKill(t, folder))
  t.strictSame([await next.listUnknown(), await next.takeEvents()], [[], []])
})

t.test('a log of its maximum size rejects changes until the control plane takes events', async t => {
  const folder = createFolder(t)
  const { change, takeEvents, logged } = await open(t, folder, 1_048_576)
  let written = 0
  await t.rejects(async () => {
    while (written < 10_000) await Promise.all(Array.from({ length: 20 }, () => change(`p${written++}`)))
  }, { code: 'BACKEND_UNAVAILABLE' })
  t.ok(written > 500, `${written} fit`)
  t.match(logged, [/cannot be written/])
  const names = await takeEvents()
  t.equal(new Set(names).size, names.length, 'each once, although the journal has several files')
  t.ok(names.length >= written - 20)
  await change('last')
  t.strictSame(await takeEvents(), ['last'])
  t.equal(readdirSync(folder).filter(name => name.endsWith('.journal')).length, 1, 'what was taken is deleted')
})

t.test('concurrent changes are all written, in the order of their ends', async t => {
  const { log, begin, takeEvents } = await open(t, createFolder(t))
  const changes = await Promise.all(Array.from({ length: 300 }, begin))
  const concluded = log.waitForOpenChanges()
  await Promise.all(changes.map((change, at) => change.made(buildCreated(`p${at}`))))
  await concluded
  t.strictSame(await takeEvents(), changes.map((_, at) => `p${at}`))
  t.equal(log.appended, 300)
})

t.test('a second process takes nothing from a log that another one writes', async t => {
  const folder = createFolder(t)
  const first = await open(t, folder)
  await first.change('p1')
  const second = await open(t, folder)
  await t.rejects(second.begin(), { code: 'BACKEND_UNAVAILABLE' })
  await first.change('p2')
  t.strictSame(await first.takeEvents(), ['p1', 'p2'])
  await first.change('p3')
  await first.log.close()
  await second.change('p4')
  t.strictSame(await second.takeEvents(), ['p3', 'p4'])
})
