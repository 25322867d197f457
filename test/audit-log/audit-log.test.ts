import { appendFileSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { AuditLog } from '../../src/observability/audit-log/audit-log.js'
import type { AuditEntry } from '../../src/observability/audit-log/entry.js'
import { listLogFiles, verify } from '../../src/observability/audit-log/chain.js'

const log = { info () {}, warn () {}, error () {} }

function createLogPath (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-audit-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'access.log')
}

const buildEntry = (id: number, day = '01'): AuditEntry => ({
  time: `2030-01-${day}T10:00:00.000Z`,
  requestId: `r${id}`,
  tenantId: 't',
  keyId: 'k',
  mode: 'test',
  action: 'R',
  type: 'Patient',
  id: String(id),
  outcome: '0'
})

const open = (file: string, more: { fileBytes?: number; maxWaiting?: number; retryMs?: number } = {}) =>
  AuditLog.open({ file, fileBytes: 1_000_000, log, ...more })

const readLines = (file: string) => readFileSync(file, 'utf8').split('\n').filter(line => line !== '')

async function writeEntries (file: string, count: number): Promise<void> {
  const audit = await open(file)
  await Promise.all(Array.from({ length: count }, (_, i) => audit.add(buildEntry(i))))
  await audit.close()
}

test('a line that was acknowledged is in the file, in order, and the chain is complete', async t => {
  const file = createLogPath(t)
  const audit = await open(file)
  const adding = Array.from({ length: 2_500 }, (_, i) => audit.add(buildEntry(i)))
  await adding[1_999]
  t.ok(readLines(file).length >= 2_000)
  await Promise.all(adding)
  await audit.close()
  t.same(readLines(file).map(line => JSON.parse(line).id), Array.from({ length: 2_500 }, (_, i) => String(i)))
  t.match(await verify([file]), { lines: 2_500, first: 1, last: { n: 2_500 }, broken: undefined })
})

test('the chain goes on after a restart', async t => {
  const file = createLogPath(t)
  for (let i = 0; i < 3; i++) await writeEntries(file, 2)
  t.match(await verify([file]), { lines: 6, last: { n: 6 }, broken: undefined })
})

for (const [what, change] of Object.entries<(lines: string[]) => string[]>({
  changed: lines => lines.map((line, i) => i === 3 ? line.replace('"Patient"', '"Account"') : line),
  removed: lines => lines.filter((_, i) => i !== 3),
  doubled: lines => lines.flatMap((line, i) => i === 3 ? [line, line] : [line]),
  moved: lines => [...lines.slice(0, 3), lines[4]!, lines[3]!, ...lines.slice(5)],
  'added by another hand': lines => lines.flatMap((line, i) => i === 3 ? ['{"n":4}', line] : [line])
})) {
  test(`a line that was ${what} is found, and the first wrong one is named`, async t => {
    const file = createLogPath(t)
    await writeEntries(file, 8)
    writeFileSync(file, change(readLines(file)).join('\n') + '\n')
    const { broken } = await verify([file])
    t.match(broken, { file, line: what === 'doubled' ? 5 : 4 })
  })
}

test('verification against a known line fails when the log was rewritten from a line on, or truncated', async t => {
  const [file, forged] = [createLogPath(t), createLogPath(t)]
  await writeEntries(file, 8)
  const { last } = await verify([file])
  t.match(await verify([file], `${last.n}:${last.hash}`), { isKnownMissing: false, broken: undefined })
  await writeEntries(forged, 7)
  t.match(await verify([forged], `${last.n}:${last.hash}`), { isKnownMissing: true, broken: undefined })
})

test('a new file is started when one is full and when a day has ended, and the chain continues through all of them', async t => {
  const file = createLogPath(t)
  const audit = await open(file, { fileBytes: 1_000 })
  for (let i = 0; i < 12; i++) await audit.add(buildEntry(i, i < 6 ? '01' : '02'))
  await audit.close()
  const files = listLogFiles(file)
  t.ok(files.length > 3)
  t.equal(files.at(-1), file)
  t.ok(
    files.every(one => new Set(readLines(one).map(line => JSON.parse(line).time.slice(0, 10))).size === 1),
    'no file holds two days'
  )
  t.match(await verify(files), { lines: 12, broken: undefined })
  const again = await open(file, { fileBytes: 1_000 })
  await again.add(buildEntry(12, '03'))
  await again.close()
  t.match(await verify(listLogFiles(file)), { lines: 13, broken: undefined })
  rmSync(files[1]!)
  t.match(await verify(listLogFiles(file)), { broken: { file: files[2], line: 1 } }, 'a file in between is missed')
  rmSync(files[0]!)
  t.match(await verify(listLogFiles(file)), { broken: undefined }, 'older ones may be kept elsewhere')
})

test('a partial line that a crash left is cut off, and no acknowledged line is lost', async t => {
  const file = createLogPath(t)
  await writeEntries(file, 4)
  appendFileSync(file, readLines(file)[0]!.slice(0, 100))
  await writeEntries(file, 2)
  t.match(await verify([file]), { lines: 6, broken: undefined })
})

test('a file that ends with a foreign line is not continued', async t => {
  const file = createLogPath(t)
  await writeEntries(file, 2)
  appendFileSync(file, 'hello\n')
  await t.rejects(open(file), { message: /verify/ })
})

test("while the file can't be written adding fails, and later lines are written afterwards", async t => {
  const file = createLogPath(t)
  const audit = await open(file, { retryMs: 5 })
  await audit.add(buildEntry(0))
  renameSync(file, `${file}.away`)
  await t.rejects(audit.add(buildEntry(1)))
  t.ok(audit.isFailing)
  await t.rejects(audit.add(buildEntry(2)))
  renameSync(`${file}.away`, file)
  while (audit.isFailing) await new Promise(resolve => setTimeout(resolve, 5))
  await audit.add(buildEntry(3))
  await audit.close()
  t.same(readLines(file).map(line => JSON.parse(line).id), ['0', '1', '2', '3'])
  t.match(await verify([file]), { lines: 4, broken: undefined })
})

test("memory is bounded while the file can't be written, and a line counts the lost ones", async t => {
  const file = createLogPath(t)
  const audit = await open(file, { retryMs: 5, maxWaiting: 3 })
  await audit.add(buildEntry(0))
  renameSync(file, `${file}.away`)
  for (let i = 1; i <= 10; i++) await t.rejects(audit.add(buildEntry(i)))
  t.equal(audit.counts.lost, 7)
  renameSync(`${file}.away`, file)
  while (audit.isFailing) await new Promise(resolve => setTimeout(resolve, 5))
  await audit.close()
  t.same(
    readLines(file)
      .map(line => JSON.parse(line))
      .map(({ action, id, records }) => id ?? `${action} ${records}`),
    ['0', 'gap 7', '1', '2', '3']
  )
  t.match(await verify([file]), { broken: undefined })
})

test('of two processes that write to one file, the first one to notice stops', async t => {
  const file = createLogPath(t)
  const [first, second] = [await open(file, { retryMs: 5 }), await open(file, { retryMs: 5 })]
  await first.add(buildEntry(0))
  await t.rejects(second.add(buildEntry(1)), { message: /another process/ })
  await second.close()
  await first.close()
  t.match(await verify([file]), { lines: 1, broken: undefined })
  t.same(readdirSync(join(file, '..')), ['access.log'])
})
