import { open, readFile, rename, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { genesis, buildNextLine, readLine, listLogFiles, type ChainEntry } from './chain.js'
import type { AuditEntry, AuditGap, AuditBacklogEntry } from './entry.js'

/** Where lines are, and how large a file may become before a new one begins. */
export interface AuditFileOptions { readonly file: string, readonly fileBytes: number }

/** The end of a log on disk, to which lines are added. One process alone writes to it. */
export class AuditFile {
  readonly #options: AuditFileOptions
  #handle: FileHandle
  /** The inode of the open file; its name may refer to another file later. */
  #inode: number
  #link: ChainEntry
  #bytes: number
  /** Of the last line; undefined in an empty file. */
  #day: string | undefined

  private constructor (options: AuditFileOptions, { handle, inode }: OpenLogFile, found: LogEnd) {
    this.#options = options
    this.#handle = handle
    this.#inode = inode
    this.#link = found.link
    this.#bytes = found.bytes
    this.#day = found.day
  }

  /**
   * Opens or creates the file. A line that a crash left incomplete is cut off: it was never confirmed as written.
   * @throws {Error} if the last line is not one that was written
   */
  static async open (options: AuditFileOptions): Promise<AuditFile> {
    const opened = await openFile(options.file)
    try {
      const found = await readLogEnd(options.file)
      await opened.handle.truncate(found.bytes)
      return new AuditFile(options, opened, found)
    } catch (error) {
      await opened.handle.close()
      throw error
    }
  }

  /**
   * Adds lines; they are on the disk when it resolves, and none of them is there when it throws.
   * @returns the link of each
   */
  async add (entries: ReadonlyArray<AuditEntry | AuditGap | AuditBacklogEntry>): Promise<readonly ChainEntry[]> {
    await this.#requireAlone()
    const day = entries[0]!.time.slice(0, 10)
    if (this.#bytes > 0 && (this.#bytes >= this.#options.fileBytes || day > this.#day!)) await this.#beginAnother()
    let link = this.#link
    const lines = entries.map(entry => {
      const next = buildNextLine(link, entry)
      link = next.link
      return next
    })
    const content = Buffer.from(lines.map(({ text }) => text).join(''))
    try {
      await this.#handle.appendFile(content)
      await this.#handle.datasync()
    } catch (error) {
      await this.#handle.truncate(this.#bytes).catch(() => {})
      throw error
    }
    this.#link = link
    this.#bytes += content.length
    this.#day = entries.at(-1)!.time.slice(0, 10)
    return lines.map(({ link }) => link)
  }

  async close (): Promise<void> {
    await this.#handle.close()
  }

  /** Two writers would each follow a chain of their own. */
  async #requireAlone (): Promise<void> {
    const { ino, size } = await stat(this.#options.file)
    if (ino !== this.#inode || size !== this.#bytes) {
      throw new Error(
        'another process moved or wrote to the access audit log; give each process its own file, and restart this one'
      )
    }
  }

  async #beginAnother (): Promise<void> {
    const { file } = this.#options
    const aside = `${file}.${String(this.#link.n).padStart(12, '0')}`
    await rename(file, aside)
    const { handle, inode } = await openFile(file).catch(async error => {
      await rename(aside, file)
      throw error
    })
    await this.#handle.close()
    this.#handle = handle
    this.#inode = inode
    this.#bytes = 0
    const folder = await open(dirname(file))
    await folder.sync().finally(() => folder.close())
  }
}

interface OpenLogFile { readonly handle: FileHandle, readonly inode: number }

async function openFile (file: string): Promise<OpenLogFile> {
  const handle = await open(file, 'a+', 0o600)
  return { handle, inode: (await handle.stat()).ino }
}

interface LogEnd { readonly link: ChainEntry, readonly bytes: number, readonly day: string | undefined }

/** The position of the log, by the last complete line of its newest file that has one. */
async function readLogEnd (file: string): Promise<LogEnd> {
  const own = await readLastLine(file)
  if (own.text !== undefined) return { link: parseLink(own.text), bytes: own.bytes, day: parseDay(own.text) }
  const before = listLogFiles(file).at(-2)
  const { text } = before === undefined ? { text: undefined } : await readLastLine(before)
  return { link: text === undefined ? genesis : parseLink(text), bytes: 0, day: undefined }
}

async function readLastLine (file: string): Promise<{ readonly text?: string, readonly bytes: number }> {
  const content = await readFile(file)
  const end = content.lastIndexOf(10) + 1
  if (end === 0) return { bytes: 0 }
  return { text: content.subarray(content.lastIndexOf(10, end - 2) + 1, end - 1).toString(), bytes: end }
}

function parseLink (text: string): ChainEntry {
  const read = readLine(text)
  if (read === undefined) {
    throw new Error(
      'the last line of the access audit log was changed after it was written; check the file with `clinigate audit-log verify`, and move it away to start a new one'
    )
  }
  return read.link
}

function parseDay (text: string): string | undefined {
  return /"time":"(\d{4}-\d\d-\d\d)/.exec(text)?.[1]
}
