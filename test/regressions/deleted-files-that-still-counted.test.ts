import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskQuota, ownerHash } from '../../src/jobs/storage/holdings.js'
import { Spool } from '../../src/jobs/storage/files.js'

// For some time after an upload was refused and its files were deleted, they counted as if they were there: the next
// one was refused with 429 in place of 413, or although there was room.

const most = 2 ** 20
const owner = { tenantId: 'org-a', mode: 'test' } as const

async function place (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-deleted-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const spool = new Spool({ directory, reserveBytes: 0, organizationBytes: most })
  // So many folders that it takes a while to look what is there, and is not done again soon.
  await Promise.all(Array.from({ length: 500 }, () => spool.begin({ tenantId: 'org-b', mode: 'test' })))
  /** Writes a file of a new job piece by piece, and deletes it when it is refused, as for an upload. */
  const upload = async (bytes: number) => {
    const { id, files } = await spool.begin(owner)
    const writer = await files.write('input')
    try {
      for (let at = 0; at < bytes; at += 65_536) await writer.write(Buffer.alloc(65_536))
      await writer.close()
      return id
    } catch (error) {
      await writer.close().catch(() => {})
      await spool.delete(id)
      throw error
    }
  }
  return { directory, spool, upload }
}

t.test('files that were deleted do not count from then on', async t => {
  const { spool, upload } = await place(t)
  for (let tries = 0; tries < 5; tries++) {
    const id = await upload(most * 0.9)
    await t.rejects(upload(most * 0.5), { code: 'RATE_LIMITED' }, 'there is no room beside it')
    await spool.delete(id)
  }
})

t.test('an upload that is larger than all may be is refused as such, also right after another one', async t => {
  const { upload } = await place(t)
  for (let tries = 0; tries < 3; tries++) await t.rejects(upload(most * 2), { code: 'PAYLOAD_TOO_LARGE' })
})

t.test('what is deleted while it is looked what is there is not found', async t => {
  const { directory, spool, upload } = await place(t)
  const id = await upload(most * 0.9)
  const holdings = new DiskQuota({ directory, max: most })
  const looking = holdings.require(ownerHash(owner), 0)
  // The look has found it or has not by now.
  await spool.delete(id)
  holdings.forget(id)
  await looking
  await holdings.require(ownerHash(owner), most)
})
