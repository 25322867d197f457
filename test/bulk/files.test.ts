import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Spool } from '../../src/bulk/files.js'
import type { JobFiles } from '../../src/bulk/work.js'

function spoolIn (t: Test, reserveBytes = 0) {
  const directory = join(mkdtempSync(join(tmpdir(), 'clinigate-spool-')), 'bulk')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return { directory, spool: new Spool({ directory, reserveBytes }) }
}

async function put (files: JobFiles, name: string, bytes: Uint8Array, from?: number): Promise<void> {
  const writer = await files.write(name, from)
  await writer.write(bytes)
  if (writer.bytes !== (from ?? 0) + bytes.length) throw new Error('a writer does not know where it is')
  await writer.close()
}

const read = (files: JobFiles, ...range: [name: string, range?: { start?: number, end?: number }]) => buffer(files.read(...range))

t.test('what was written is read back, whole and from any place to any other', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  const content = randomBytes(700_001)
  const writer = await files.write('Patient.ndjson')
  for (let at = 0; at < content.length;) {
    const length = 1 + Math.floor(Math.random() * 9_000)
    await writer.write(content.subarray(at, at + length))
    at += length
  }
  await writer.close()
  t.equal(await files.size('Patient.ndjson'), content.length)
  t.ok((await read(files, 'Patient.ndjson')).equals(content))
  for (const [start, end] of [[0, 1], [1, 17], [15, 16], [16, 33], [131_071, 131_073], [262_144, 262_145], [699_999, 700_001], [700_000, 900_000], [5, 5]] as const) {
    t.ok((await read(files, 'Patient.ndjson', { start, end })).equals(content.subarray(start, end)), `${start} to ${end}`)
  }
  t.ok((await read(files, 'Patient.ndjson', { start: 690_000 })).equals(content.subarray(690_000)))
  t.equal((await read(files, 'Patient.ndjson', { start: 900_000 })).length, 0)
  t.equal(await files.size('Group.ndjson'), undefined)
  await t.rejects(read(files, 'Group.ndjson'), { code: 'ENOENT' })
})

t.test('a file is cut and goes on from any place, however often, and is read as what was written last', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  let content = randomBytes(1_000)
  await put(files, 'a', content)
  for (const from of [1_000, 999, 500, 1_300, 17, 16, 400, 0, 3]) {
    const more = randomBytes(800)
    await put(files, 'a', more, from)
    content = Buffer.concat([content.subarray(0, from), more])
    t.ok((await read(files, 'a')).equals(content), `from ${from}`)
  }
  await t.rejects(files.write('a', 5_000), /shorter than the place/)
  await t.rejects(files.write('b', 5), { code: 'ENOENT' })
})

t.test('two contents of one place never share a keystream', async t => {
  const { spool, directory } = spoolIn(t)
  const { id, files } = await spool.begin()
  const raw = (name = 'a') => readFileSync(join(directory, id, name))
  const zeros = Buffer.alloc(4_096)
  const streams: Buffer[] = []
  // What zeros are encrypted to is the keystream itself.
  for (const from of [0, 0, 32, 33, 32, 0]) {
    await put(files, 'a', zeros.subarray(from), from)
    streams.push(raw())
  }
  await put(files, 'b', zeros)
  streams.push(raw('b'))
  const blocks = (stream: Buffer, from = 0) => Array.from({ length: 200 }, (_, i) => stream.subarray(from + i * 16, from + i * 16 + 16).toString('hex'))
  for (const [i, stream] of streams.entries()) {
    for (const other of streams.slice(i + 1)) {
      const seen = new Set(blocks(stream, 48))
      t.equal(blocks(other, 48).filter(block => seen.has(block)).length, 0)
    }
  }
  t.equal(new Set(blocks(streams[0]!)).size, 200, 'and no block of one content has that of another')
})

t.test('a spool says nothing without the key of the job', async t => {
  const { spool, directory } = spoolIn(t)
  const { id, files } = await spool.begin()
  const content = Buffer.from(`${JSON.stringify({ resourceType: 'Patient', name: 'Ada Byron' })}\n`.repeat(1_000))
  await put(files, 'Patient.ndjson', content)
  for (const name of readdirSync(join(directory, id))) {
    const raw = readFileSync(join(directory, id, name))
    // Long enough not to come up by chance.
    for (const word of ['Ada Byron', 'resourceType', '"Patient"']) t.equal(raw.includes(word), false, `${word} in ${name}`)
  }
  const others = spool.of({ id, fileKey: randomBytes(32).toString('base64') })
  t.equal((await read(others, 'Patient.ndjson')).includes('Ada Byron'), false)
})

t.test('files are for the gateway\'s own user alone', async t => {
  const { spool, directory } = spoolIn(t)
  const { id, files } = await spool.begin()
  await put(files, 'a', Buffer.from('x'))
  const modes = [directory, join(directory, id), join(directory, id, 'a'), join(directory, id, 'a.pieces'), join(directory, 'store.id')].map(path => (statSync(path).mode & 0o777).toString(8))
  t.same(modes, ['700', '700', '600', '600', '600'])
})

t.test('no name leads out of the folder of the job', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  for (const name of ['', '.', '..', '../a', 'a/b', '/etc/passwd', 'a\0', '.hidden', 'a.pieces', 'x'.repeat(101)]) {
    t.throws(() => files.path(name), /not a name/, name)
    await t.rejects(files.write(name))
  }
  for (const id of ['', '..', 'job-x', '../job-aaaaaaaaaaaaaaaaaaaaaaaaaa']) t.throws(() => spool.of({ id, fileKey: '' }))
})

t.test('what a crash left unfinished is cut off, and the rest is read', async t => {
  const { spool, directory } = spoolIn(t)
  const { id, files } = await spool.begin()
  await put(files, 'a', Buffer.from('first'))
  await put(files, 'a', Buffer.from('second'), 5)
  // The note of a third piece, of which half came to the disk.
  const list = join(directory, id, 'a.pieces')
  const half = await files.write('a', 11)
  truncateSync(list, statSync(list).size - 10)
  await half.close()
  t.equal((await read(files, 'a')).toString(), 'firstsecond')
  await put(files, 'a', Buffer.from('third'), 11)
  t.equal((await read(files, 'a')).toString(), 'firstsecondthird')
})

t.test('whoever reads while a file is cut and written anew reads no byte with the wrong key', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  await put(files, 'a', Buffer.alloc(1_000_000, 'a'))
  const reader = files.read('a')[Symbol.asyncIterator]()
  t.match((await reader.next()).value.toString('latin1'), /^a+$/)
  await put(files, 'a', Buffer.alloc(500_000, 'b'), 300_000)
  let rest = ''
  for (let next = await reader.next(); !next.done; next = await reader.next()) rest += next.value.toString('latin1')
  t.match(rest, /^a+b+$/)
})

t.test('a disk that is full is trouble of ours, and what was written before is there', async t => {
  const { spool } = spoolIn(t, Number.MAX_SAFE_INTEGER)
  const { files } = await spool.begin()
  await t.rejects(files.write('a'), { code: 'BACKEND_UNAVAILABLE', status: 503, headers: { 'retry-after': '60' }, message: /no room/ })
})

t.test('a writer waits for the disk: what it holds in memory has a bound', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  const writer = await files.write('a')
  const line = Buffer.alloc(1_000_000)
  for (let i = 0; i < 64; i++) await writer.write(line)
  t.equal(await files.size('a'), 64_000_000, 'all but the last quarter of a million bytes is on the disk when write resolves')
  await writer.close()
})

t.test('calls that overlap keep their order', async t => {
  const { spool } = spoolIn(t)
  const { files } = await spool.begin()
  const writer = await files.write('a')
  const lines = Array.from({ length: 200 }, (_, i) => Buffer.alloc(5_000, i % 256))
  await Promise.all(lines.map(line => writer.write(line)))
  await writer.close()
  t.ok((await read(files, 'a')).equals(Buffer.concat(lines)))
})

t.test('the directory keeps its id, and several that open it at once agree', async t => {
  const { spool, directory } = spoolIn(t)
  t.equal(new Spool({ directory, reserveBytes: 0 }).storeId, spool.storeId)
  t.not(spoolIn(t).spool.storeId, spool.storeId)
})

t.test('deleting takes a job\'s folder and no other; a folder without a job is found by its age', async t => {
  const { spool, directory } = spoolIn(t)
  const [one, other] = [await spool.begin(), await spool.begin()]
  await put(one.files, 'a', Buffer.from('x'))
  t.same((await spool.unchangedSince(new Date(Date.now() + 60_000))).toSorted(), [one.id, other.id].sort())
  t.same(await spool.unchangedSince(new Date(Date.now() - 60_000)), [])
  await spool.delete(one.id)
  await spool.delete(one.id)
  t.same(readdirSync(directory).filter(name => name.startsWith('job-')), [other.id])
})
