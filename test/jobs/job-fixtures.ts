/** Jobs as workers leave them, created without a gateway, for tests of what clients see of them. */
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { Spool } from '../../src/jobs/storage/files.js'
import type { ControlStore } from '../../src/control-plane/store/store.js'
import type { Job, JobChange, JobOwner, JobRequest } from '../../src/jobs/model/job.js'

/** The options of a test's job. */
export interface JobOptions extends Omit<JobChange, 'files'> {
  readonly owner: Pick<JobOwner, 'tenantId' | 'mode'>
  readonly request?: JobRequest
  /** Files by their names; their lines are counted. */
  readonly files?: Readonly<Record<string, string>>
  /** No gateway has claimed it. */
  readonly isPending?: boolean
}

/** Who starts the jobs of most tests. */
export const owner: JobOwner = {
  tenantId: 'org-a',
  mode: 'test',
  keyId: 'key-a',
  keyName: 'a key',
  plan: 'pro',
  overage: true
}

export const exportRequest: JobRequest = {
  kind: 'export',
  types: ['Patient'],
  format: 'fhir',
  level: 'system',
  url: 'https://api.example.org/v1/bulk/export'
}
export const importRequest: JobRequest = { kind: 'import', dryRun: false, url: 'https://api.example.org' }

/** Makes jobs in a control store of SQLite, and their files in the spool of its gateway. */
export function createJobMaker (control: ControlStore, dataDirectory: string): (request: JobOptions) => Promise<Job> {
  const spool = new Spool({ directory: join(dataDirectory, 'bulk'), reserveBytes: 0 })
  return async ({ owner, request = exportRequest, files = {}, isPending, ...change }) => {
    const { files: written, storeId, ...draft } = await spool.begin()
    const list = await Promise.all(Object.entries(files).map(async ([name, content]) => {
      const writer = await written.write(name)
      await writer.write(Buffer.from(content))
      await writer.close()
      return {
        name,
        resourceType: name.split('.')[0]!,
        count: content.split('\n').length - 1,
        bytes: Buffer.byteLength(content),
        mark: writer.mark
      }
    }))
    // In a store that no gateway sees, so that only the test works on it.
    const elsewhere = `elsewhere-${draft.id}`
    await control.jobs.create({
      ...draft,
      storeId: elsewhere,
      owner: { keyId: 'key-x', keyName: 'a key', plan: 'pro', overage: true, ...owner },
      request
    })
    if (isPending !== true) {
      const { lease } = (await control.jobs.claim({
        gateway: 'test',
        storeId: elsewhere,
        perTenant: 1_000,
        leaseMs: 3_600_000
      }))!
      await control.jobs.save(lease, { files: list, ...change }, 3_600_000)
      putInto(join(dataDirectory, 'control.db'), storeId, draft.id)
    }
    return (await control.jobs.find(draft.id, owner))!
  }
}

function putInto (file: string, storeId: string, id: string): void {
  const database = new SQLite(file)
  database.prepare('UPDATE jobs SET store_id = ? WHERE id = ?').run(storeId, id)
  database.close()
}
