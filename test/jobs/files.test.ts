import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Spool } from '../../src/jobs/storage/files.js'
import type { FileState, JobFiles, ReadRange } from '../../src/jobs/job-context.js'

/** The size of a frame: 64 KiB, and its tag. */
const slot = 65_552
const isDamaged = { code: 'INTERNAL_ERROR', message: /changed or truncated/ }

function createSpool (t: Test, reserveBytes = 0) {
  const directory = join(mkdtempSync(join(tmpdir(), 'clinigate-spool-')), 'bulk')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return { directory, spool: new Spool({ directory, reserveBytes }) }
}

async function put (files: JobFiles, name: string, bytes: Uint8Array, from?: number): Promise<FileState> {
  const writer = await files.write(name, from)
  await writer.write(bytes)
  if (writer.bytes !== (from ?? 0) + bytes.length) throw new Error('a writer does not know where it is')
  await writer.close()
  return { bytes: writer.bytes, mark: writer.mark }
}

const read = (files: JobFiles, ...range: [name: string, range?: ReadRange]) => buffer(files.read(...range))

t.test('written bytes are read back, whole and from any offset to any other', async t => {
  const { spool } = createSpool(t)
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
  for (const [start, end] of [
    [0, 1],
    [1, 17],
    [65_535, 65_536],
    [65_535, 65_537],
    [65_536, 131_072],
    [10, 400_000],
    [262_143, 262_145],
    [699_999, 700_001],
    [0, 700_001],
    [5, 5]
  ] as const) {
    t.ok(
      (await read(files, 'Patient.ndjson', { start, end })).equals(content.subarray(start, end)),
      `${start} to ${end}`
    )
  }
  t.ok((await read(files, 'Patient.ndjson', { start: 690_000 })).equals(content.subarray(690_000)))
  for (const start of [700_001, 720_896, 900_000]) t.equal((await read(files, 'Patient.ndjson', { start })).length, 0)
  await t.rejects(
    read(files, 'Patient.ndjson', { start: 700_000, end: 700_002 }),
    isDamaged,
    'half of a file is never returned as the whole'
  )
  t.equal(await files.size('Group.ndjson'), undefined)
  await t.rejects(read(files, 'Group.ndjson'), { code: 'ENOENT' })
})

t.test('a file is truncated and continued at any offset, however often, and is read as last written', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  let content = randomBytes(200_000)
  await put(files, 'a', content)
  const offsets = Array.from({ length: 30 }, () => Math.floor(Math.random() * 150_000))
  for (const from of [200_000, 199_999, 65_536, 65_537, 65_535, 131_072, 17, 16, 400, ...offsets, 0, 3]) {
    const more = randomBytes(150_000 + Math.floor(Math.random() * 100_000))
    await put(files, 'a', more, from)
    content = Buffer.concat([content.subarray(0, from), more])
    t.ok((await read(files, 'a')).equals(content), `from ${from}`)
    t.equal(await files.size('a'), content.length)
    const [start, end] = [Math.floor(Math.random() * 100_000), 100_000 + Math.floor(Math.random() * 50_000)]
    t.ok(
      (await read(files, 'a', { start, end })).equals(content.subarray(start, end)),
      `${start} to ${end}, from ${from}`
    )
  }
  await t.rejects(files.write('a', 500_000), /shorter than the position/)
  await t.rejects(files.write('b', 5), { code: 'ENOENT' })
})

t.test('flushed bytes are there on their own, and later bytes do not touch them', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  const writer = await files.write('a')
  let content = Buffer.alloc(0)
  for (const length of [0, 1, 65_535, 65_536, 0, 100, 300_000, 65_536]) {
    const more = randomBytes(length)
    await writer.write(more)
    await writer.flush()
    content = Buffer.concat([content, more])
    t.ok((await read(files, 'a')).equals(content))
    t.ok((await read(files, 'a', { state: { bytes: writer.bytes, mark: writer.mark } })).equals(content))
  }
  await writer.close()
  t.ok((await read(files, 'a')).equals(content))
})

t.test('two contents never share a keystream', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const zeros = Buffer.alloc(150_000)
  const blocks: string[] = []
  // What zeros are encrypted to is the keystream itself.
  for (const [name, from] of [['a', 0], ['a', 0], ['a', 65_536], ['a', 100], ['a', 100], ['a', 0], ['b', 0]] as const) {
    const { size: before } = from === 0 ? { size: 0 } : statSync(join(directory, id, name))
    await put(files, name, zeros, from)
    const raw = readFileSync(join(directory, id, name))
    // The frame with the last byte before the offset is unchanged.
    for (let at = from === 0 ? 0 : Math.min(slot, before); at + 16 <= raw.length; at += 16) {
      blocks.push(raw.subarray(at, at + 16).toString('hex'))
    }
  }
  t.ok(blocks.length > 7 * 9_000)
  t.equal(new Set(blocks).size, blocks.length)
})

t.test('a spool discloses nothing without the key of the job', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const content = Buffer.from(`${JSON.stringify({ resourceType: 'Patient', name: 'Ada Byron' })}\n`.repeat(1_000))
  await put(files, 'Patient.ndjson', content)
  for (const name of readdirSync(join(directory, id))) {
    const raw = readFileSync(join(directory, id, name))
    // Long enough not to come up by chance.
    for (const word of ['Ada Byron', 'resourceType', '"Patient"']) {
      t.equal(raw.includes(word), false, `${word} in ${name}`)
    }
  }
  const others = spool.getJobFiles({ id, fileKey: randomBytes(32).toString('base64') })
  await t.rejects(read(others, 'Patient.ndjson'), isDamaged)
})

t.test('files are for the gateway\'s own user alone', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  await put(files, 'a', Buffer.from('x'))
  const modes = [
    directory,
    join(directory, id),
    join(directory, id, 'a'),
    join(directory, id, 'a.pieces'),
    join(directory, 'store.id')
  ].map(path => (statSync(path).mode & 0o777).toString(8))
  t.same(modes, ['700', '700', '600', '600', '600'])
})

t.test('no name leads out of the folder of the job', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  for (const name of ['', '.', '..', '../a', 'a/b', '/etc/passwd', 'a\0', '.hidden', 'a.pieces', 'x'.repeat(101)]) {
    t.throws(() => files.path(name), /not a valid name/, name)
    await t.rejects(files.write(name))
  }
  for (const id of ['', '..', 'job-x', '../job-aaaaaaaaaaaaaaaaaaaaaaaaaa']) {
    t.throws(() => spool.getJobFiles({ id, fileKey: '' }))
  }
})

t.test('what a crash left unfinished is cut off, and the rest is read', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  let content = Buffer.concat([randomBytes(100_000), randomBytes(70_000)])
  await put(files, 'a', content.subarray(0, 100_000))
  await put(files, 'a', content.subarray(100_000), 100_000)
  // The note of a third piece, of which a part came to the disk, or only its length.
  for (const half of [randomBytes(1), randomBytes(47), Buffer.alloc(48)]) {
    appendFileSync(join(directory, id, 'a.pieces'), half)
    t.ok((await read(files, 'a')).equals(content))
    const more = randomBytes(10)
    await put(files, 'a', more, content.length)
    content = Buffer.concat([content, more])
    t.ok((await read(files, 'a')).equals(content))
  }
})

t.test('a crash in the middle of a frame harms nothing that was flushed', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const content = randomBytes(100_000)
  for (const extraBytes of [0, 1, 15, 16, 30_000, slot - 1, slot, slot + 1, 2 * slot + 5]) {
    const first = await files.write('a')
    await first.write(content)
    await first.flush()
    const state = { bytes: first.bytes, mark: first.mark }
    const flushed = statSync(join(directory, id, 'a')).size
    await first.write(randomBytes(300_000))
    truncateSync(join(directory, id, 'a'), flushed + extraBytes)
    t.ok((await read(files, 'a', { end: 100_000, state })).equals(content), `with ${extraBytes} bytes more`)
    await t.rejects(read(files, 'a'), isDamaged, 'what was not flushed is not half there')
    t.ok(await files.size('a')! as number >= 100_000)
    const more = randomBytes(1_000)
    const next = await files.write('a', state.bytes, state.mark)
    await next.write(more)
    await next.close()
    t.ok((await read(files, 'a')).equals(Buffer.concat([content, more])))
    await first.close().catch(() => {})
  }
})

t.test('a changed bit, wherever it is, is an error, and no byte before the error is false', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const content = randomBytes(200_000)
  await put(files, 'a', content.subarray(0, 90_000))
  await put(files, 'a', content.subarray(90_000), 90_000)
  const flip = async (name: string, at: number): Promise<void> => {
    const path = join(directory, id, name)
    const raw = readFileSync(path)
    const changed = Buffer.from(raw)
    changed[at]! ^= 1 << at % 8
    writeFileSync(path, changed)
    const received: Buffer[] = []
    await t.rejects(
      async () => {
        for await (const chunk of files.read('a') as AsyncIterable<Buffer>) received.push(chunk)
      },
      isDamaged,
      `${name} ${at}`
    )
    const before = Buffer.concat(received)
    if (!before.equals(content.subarray(0, before.length))) t.fail(`false bytes with ${name} ${at}`)
    writeFileSync(path, raw)
  }
  const length = statSync(join(directory, id, 'a')).size
  for (const at of [0, 1, 1_000, 65_535, 65_536, slot - 1, slot, slot + 5, length - 17, length - 16, length - 1]) {
    await flip('a', at)
  }
  for (let at = 0; at < statSync(join(directory, id, 'a.pieces')).size; at++) await flip('a.pieces', at)
  t.ok((await read(files, 'a')).equals(content))
})

t.test('a frame is valid at its own offset alone: not at another, not in another file, job or version', async t => {
  const { spool, directory } = createSpool(t)
  const [one, two] = [await spool.begin(), await spool.begin()]
  const toPath = (id: string, name: string) => join(directory, id, name)
  const content = Buffer.alloc(200_000, 'x')
  for (const [files, name] of [
    [one.files, 'a'],
    [one.files, 'b'],
    [two.files, 'a']
  ] as const) { await put(files, name, content) }
  const raw = readFileSync(toPath(one.id, 'a'))
  const getFrame = (from: Buffer, number: number) => from.subarray(number * slot, (number + 1) * slot)
  const replaceFrame = (number: number, by: Buffer) =>
    Buffer.concat([raw.subarray(0, number * slot), by, raw.subarray((number + 1) * slot)])
  const requireRejected = async (bytes: Buffer, why: string): Promise<void> => {
    writeFileSync(toPath(one.id, 'a'), bytes)
    await t.rejects(read(one.files, 'a'), isDamaged, why)
    writeFileSync(toPath(one.id, 'a'), raw)
  }
  await requireRejected(Buffer.concat([getFrame(raw, 1), getFrame(raw, 0), raw.subarray(2 * slot)]), 'swapped')
  await requireRejected(replaceFrame(1, getFrame(raw, 0)), 'twice')
  await requireRejected(replaceFrame(1, Buffer.alloc(0)), 'left out')
  await requireRejected(replaceFrame(1, getFrame(readFileSync(toPath(one.id, 'b')), 1)), 'of another file')
  await requireRejected(replaceFrame(1, getFrame(readFileSync(toPath(two.id, 'a')), 1)), 'of another job')
  for (const suffix of ['', '.pieces']) {
    writeFileSync(toPath(one.id, `a${suffix}`), readFileSync(toPath(two.id, `a${suffix}`)))
  }
  await t.rejects(read(one.files, 'a'), isDamaged, 'a whole file of another job')
  for (const suffix of ['', '.pieces']) {
    writeFileSync(toPath(one.id, `a${suffix}`), readFileSync(toPath(one.id, `b${suffix}`)))
  }
  await t.rejects(read(one.files, 'a'), isDamaged, 'a whole file of another name')
  await put(two.files, 'a', content.subarray(65_536), 65_536)
  const now = readFileSync(toPath(two.id, 'a'))
  t.equal(now.length, raw.length)
  for (const number of [1, 2, 3]) {
    writeFileSync(toPath(two.id, 'a'), now)
    t.ok((await read(two.files, 'a')).equals(content))
    writeFileSync(
      toPath(two.id, 'a'),
      Buffer.concat([now.subarray(0, number * slot), getFrame(raw, number), now.subarray((number + 1) * slot)])
    )
    await t.rejects(read(two.files, 'a'), isDamaged, 'of an earlier version')
  }
})

t.test('a file that was truncated or extended is an error', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const content = randomBytes(131_072)
  await put(files, 'a', content)
  const path = join(directory, id, 'a')
  const raw = readFileSync(path)
  t.equal(raw.length, 2 * slot + 16, 'an end behind two whole frames')
  for (const length of [0, 1, 16, slot - 1, slot, slot + 1, 2 * slot - 1, 2 * slot, 2 * slot + 1, 2 * slot + 15]) {
    writeFileSync(path, raw.subarray(0, length))
    await t.rejects(read(files, 'a'), isDamaged, `cut to ${length}`)
    await t.rejects(read(files, 'a', { start: 200_000 }), isDamaged)
  }
  for (const more of [1, 16, slot]) {
    writeFileSync(path, Buffer.concat([raw, Buffer.alloc(more)]))
    await t.rejects(read(files, 'a'), isDamaged, `${more} more`)
  }
  writeFileSync(path, raw)
  const list = readFileSync(`${path}.pieces`)
  for (const changed of [Buffer.alloc(0), list.subarray(0, 20), Buffer.concat([list, list, list])]) {
    writeFileSync(`${path}.pieces`, changed)
    await t.rejects(read(files, 'a'), isDamaged)
  }
  rmSync(`${path}.pieces`)
  await t.rejects(read(files, 'a'), isDamaged)
  await t.rejects(files.write('a', 5), /shorter/)
})

t.test('a file that is replaced by an earlier version of itself is an error for a reader that knows its state', async t => {
  const { spool, directory } = createSpool(t)
  const { id, files } = await spool.begin()
  const takeSnapshot = () =>
    ['a', 'a.pieces'].map(name => [join(directory, id, name), readFileSync(join(directory, id, name))] as const)
  const restoreSnapshot = (snapshot: ReturnType<typeof takeSnapshot>) => {
    for (const [path, bytes] of snapshot) writeFileSync(path, bytes)
  }
  const states: Array<{ state: FileState, snapshot: ReturnType<typeof takeSnapshot>, content: Buffer }> = []
  let content = Buffer.alloc(0)
  for (const from of [0, 100_000, 70_000, 65_536, 0]) {
    const more = randomBytes(100_000)
    const state = await put(files, 'a', more, from)
    content = Buffer.concat([content.subarray(0, from), more])
    states.push({ state, snapshot: takeSnapshot(), content })
  }
  await files.remove('a')
  const again = randomBytes(100_000)
  states.push({ state: await put(files, 'a', again), snapshot: takeSnapshot(), content: again })
  for (const [i, { snapshot, content }] of states.entries()) {
    restoreSnapshot(snapshot)
    for (const [j, { state }] of states.entries()) {
      if (i === j) {
        t.ok((await read(files, 'a', { state })).equals(content))
        t.ok((await read(files, 'a', { start: 50_000, end: 80_000, state })).equals(content.subarray(50_000, 80_000)))
      } else if (!(i === 1 && j === 0)) {
        await t.rejects(read(files, 'a', { end: 10, state }), isDamaged, `${i} in place of ${j}`)
        await t.rejects(files.write('a', state.bytes, state.mark), isDamaged)
      }
    }
  }
  const long = await put(files, 'a', randomBytes(600_000))
  const before = takeSnapshot()
  const state = await put(files, 'a', Buffer.alloc(600_000, 'x'))
  t.ok(long.mark !== state.mark)
  const reader = files.read('a', { state })[Symbol.asyncIterator]()
  await reader.next()
  restoreSnapshot(before)
  const received: Buffer[] = []
  await t.rejects(
    async () => {
      for (let next = await reader.next(); !next.done; next = await reader.next()) received.push(next.value)
    },
    isDamaged,
    'nor while it is read'
  )
  t.match(Buffer.concat(received).toString('latin1'), /^x*$/)
  restoreSnapshot(states[1]!.snapshot)
  t.ok(
    (await read(files, 'a', { end: 100_000, state: states[0]!.state })).equals(states[0]!.content),
    'what only grew since is what was meant'
  )
})

t.test('a reader never decrypts with the wrong key while a file is truncated and written again', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  await put(files, 'a', Buffer.alloc(1_000_000, 'a'))
  const reader = files.read('a')[Symbol.asyncIterator]()
  t.match((await reader.next()).value.toString('latin1'), /^a+$/)
  await put(files, 'a', Buffer.alloc(500_000, 'b'), 300_000)
  let rest = ''
  for (let next = await reader.next(); !next.done; next = await reader.next()) rest += next.value.toString('latin1')
  t.match(rest, /^a+b+$/)
})

t.test('a full disk is a 503, and what was written before is there', async t => {
  const { spool } = createSpool(t, Number.MAX_SAFE_INTEGER)
  const { files } = await spool.begin()
  await t.rejects(files.write('a'), {
    code: 'BACKEND_UNAVAILABLE',
    status: 503,
    headers: { 'retry-after': '60' },
    message: /no disk space/
  })
})

t.test('a writer waits for the disk: its bytes in memory are bounded', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  const writer = await files.write('a')
  const line = Buffer.alloc(1_000_000)
  for (let i = 0; i < 64; i++) await writer.write(line)
  t.ok(
    ((await files.size('a')!) as number) >= 64_000_000 - 262_144 - 65_536,
    'all but the last third of a million bytes is on the disk when write resolves'
  )
  await writer.close()
})

t.test('calls that overlap keep their order', async t => {
  const { spool } = createSpool(t)
  const { files } = await spool.begin()
  const writer = await files.write('a')
  const lines = Array.from({ length: 200 }, (_, i) => Buffer.alloc(5_000, i % 256))
  await Promise.all(lines.map(line => writer.write(line)))
  await writer.close()
  t.ok((await read(files, 'a')).equals(Buffer.concat(lines)))
})

t.test('the directory keeps its id, and several that open it at once agree', async t => {
  const { spool, directory } = createSpool(t)
  t.equal(new Spool({ directory, reserveBytes: 0 }).storeId, spool.storeId)
  t.not(createSpool(t).spool.storeId, spool.storeId)
})

t.test('deleting takes a job\'s folder and no other; a folder without a job is found by its age', async t => {
  const { spool, directory } = createSpool(t)
  const [one, other] = [await spool.begin(), await spool.begin()]
  await put(one.files, 'a', Buffer.from('x'))
  t.same((await spool.listUnchangedSince(new Date(Date.now() + 60_000))).toSorted(), [one.id, other.id].sort())
  t.same(await spool.listUnchangedSince(new Date(Date.now() - 60_000)), [])
  await spool.delete(one.id)
  await spool.delete(one.id)
  t.same(readdirSync(directory).filter(name => name.startsWith('job-')), [other.id])
})
