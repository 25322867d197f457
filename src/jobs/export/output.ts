import type { JobFile, Progress } from '../model/job.js'
import { toFileState, type FileWriter, type JobFiles } from '../job-context.js'

/** The records of one type that were written. */
export type TypeOutput = Required<Omit<JobFile, 'name'>>

const nameOf = (type: string): string => `${type}.ndjson`

interface Open { readonly type: string, readonly writer: FileWriter }

/** The files of an export, one per type, in the order in which they were started. */
export class Output {
  readonly #files: JobFiles
  readonly #written: Map<string, TypeOutput>
  #open: Open | undefined

  /** @param written the records that an earlier run wrote; anything after them in the files is cut off */
  constructor (files: JobFiles, written: readonly TypeOutput[]) {
    this.#files = files
    this.#written = new Map(written.map(each => [each.resourceType, each]))
  }

  get written (): readonly TypeOutput[] {
    return [...this.#written.values()]
  }

  get files (): readonly JobFile[] {
    return this.written.map(each => ({ name: nameOf(each.resourceType), ...each }))
  }

  get progress (): Pick<Progress, 'processed'> {
    return { processed: this.written.reduce((sum, { count }) => sum + count, 0) }
  }

  /** Whether the files have at least the size recorded for them. */
  async isThere (): Promise<boolean> {
    const sizes = await Promise.all(
      this.written.map(
        async ({ resourceType, bytes }) => ((await this.#files.size(nameOf(resourceType))) ?? 0) >= bytes
      )
    )
    return sizes.every(Boolean)
  }

  /** Resolves when more may be written. */
  async write (type: string, texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return
    const { writer } = await this.#openFile(type)
    await writer.write(Buffer.from(`${texts.join('\n')}\n`))
    this.#written.set(type, {
      resourceType: type,
      count: (this.#written.get(type)?.count ?? 0) + texts.length,
      ...toFileState(writer)
    })
  }

  /** The ids among these that the file of a type already contains. */
  async findWrittenIds (type: string, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const written = this.#written.get(type)
    const found = new Set<string>()
    if (written === undefined || ids.size === 0) return found
    await this.flush()
    for await (const texts of readNdjsonChunks(
      this.#files.read(nameOf(type), { end: written.bytes, state: written })
    )) {
      for (const text of texts) {
        const { id } = JSON.parse(text) as { readonly id: string }
        if (ids.has(id)) found.add(id)
      }
    }
    return found
  }

  /** Resolves when everything is on disk. */
  async flush (): Promise<void> {
    await this.#open?.writer.flush()
  }

  async close (): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.writer.close()
  }

  /** Deletes all files. */
  async clear (): Promise<void> {
    await this.close()
    for (const type of this.#written.keys()) await this.#files.remove(nameOf(type))
    this.#written.clear()
  }

  async #openFile (type: string): Promise<Open> {
    if (this.#open?.type === type) return this.#open
    await this.close()
    const written = this.#written.get(type)
    this.#open = { type, writer: await this.#files.write(nameOf(type), written?.bytes, written?.mark) }
    return this.#open
  }
}

/** The lines of NDJSON that an export wrote, one chunk's lines at a time. */
async function * readNdjsonChunks (bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let begun: Buffer[] = []
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(0x0a)
    if (end < 0) {
      begun.push(chunk)
      continue
    }
    yield Buffer.concat([...begun, chunk.subarray(0, end)]).toString().split('\n')
    begun = [chunk.subarray(end + 1)]
  }
}
