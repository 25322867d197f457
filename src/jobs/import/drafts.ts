import { setImmediate as breathe } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { printJson, parseStored } from '../../json/json.js'
import type { Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { mappings } from '../../mappings/registry.js'
import { RecordTemplate } from '../../tenant-guard/import/tagged-record.js'
import { corruptFile } from '../storage/storage-errors.js'
import type { IndexedLine } from './index-rows.js'
import { Sealer } from './result.js'
import { openDatabase, WriteBuffer } from './write-buffer.js'

/** A line of FHIR when it was read: it replaces the stored record. */
export interface FhirDraft {
  readonly type: string
  /** The name of the record on the line. */
  readonly name?: string
  readonly mapping?: undefined
  /** The checked record; only its id and the ids of what it refers to are filled in. */
  readonly template: RecordTemplate
  readonly warnings: readonly Issue[]
}

/** A line of the simple form when it was read: it changes the named fields of a stored record, if there is one. */
export interface SimpleDraft extends Pick<FhirDraft, 'type' | 'name' | 'warnings'> {
  readonly mapping: Mapping
  /** The fields that the line names. */
  readonly body: FhirElement
  /** Whether the line is a record as a client read it here. */
  readonly wasRead?: true
  /** The checked new record; absent where its form depends on stored records. */
  readonly template?: RecordTemplate
}

/** A line after it was read and checked: all that is needed to write it. */
export type Draft = FhirDraft | SimpleDraft

/** A line to write with its draft. */
export interface DraftedLine { readonly line: IndexedLine, readonly draft: Draft }

/** The properties of a line when it was read, which its draft is sealed with. */
type SealedWith = Pick<IndexedLine, 'line' | 'at' | 'bytes' | 'type' | 'identity'>

/** Lines that are opened before other requests are served. */
const linesPerTurn = 50

/**
 * The drafts of the lines that are read and not written, an SQLite file next to the index: a line comes into the index
 * only after its draft is on disk, and the draft is deleted only after the result is. Each is encrypted, and belongs to
 * the line with the same number, position, type and identity.
 */
export class DraftFile {
  readonly #db: Database.Database
  readonly #writes: WriteBuffer
  readonly #sealer: Sealer
  readonly #store: Database.Statement
  readonly #get: Database.Statement
  readonly #drop: Database.Statement

  /** @param fileKey the key that encrypts the job's files, in base64 */
  constructor (path: string, fileKey: string) {
    this.#db = openDatabase(path, 'CREATE TABLE IF NOT EXISTS drafts (line INTEGER PRIMARY KEY, draft BLOB NOT NULL)')
    this.#writes = new WriteBuffer(this.#db)
    this.#sealer = new Sealer(fileKey, 'drafts of an import')
    this.#store = this.#db.prepare('INSERT OR REPLACE INTO drafts VALUES (?, ?)')
    this.#get = this.#db.prepare('SELECT draft FROM drafts WHERE line = ?').pluck()
    this.#drop = this.#db.prepare('DELETE FROM drafts WHERE line = ?')
  }

  /** Encrypts a draft. */
  seal (line: SealedWith, draft: Draft): Buffer {
    return this.#sealer.close(Buffer.from(printDraft(draft)), toHeader(line))
  }

  /** Writes sealed drafts to disk, by the numbers of their lines. */
  store (drafts: ReadonlyMap<number, Buffer>): void {
    if (drafts.size === 0) return
    this.#writes.change(drafts.size, () => {
      for (const [line, draft] of drafts) this.#store.run(line, draft)
    })
    this.commit()
  }

  /**
   * The drafts of lines, in their order.
   * @throws {Failure} INTERNAL_ERROR for a line that differs from when it was read
   */
  async read (lines: readonly IndexedLine[]): Promise<readonly DraftedLine[]> {
    const drafts: DraftedLine[] = []
    for (let at = 0; at < lines.length; at += linesPerTurn) {
      const some = lines.slice(at, at + linesPerTurn)
      drafts.push(...this.#writes.runInTransaction(() => some.map(line => ({ line, draft: this.#open(line) }))))
      await breathe()
    }
    return drafts
  }

  #open (line: IndexedLine): Draft {
    const sealed = this.#get.get(line.line) as Buffer | undefined
    const plain = sealed && this.#sealer.open(sealed, toHeader(line))
    if (plain === undefined) throw corruptFile('a line is not what it was when it was read')
    return parseDraft(plain.toString())
  }

  /** Deletes the drafts of lines; the next commit does so on disk. */
  drop (lines: readonly number[]): void {
    if (lines.length === 0 || !this.#db.open) return
    this.#writes.change(lines.length, () => {
      for (const line of lines) this.#drop.run(line)
    })
  }

  /** Writes all changes to disk. */
  commit (): void {
    this.#writes.commit()
  }

  close (): void {
    try {
      this.commit()
    } finally {
      this.#db.close()
    }
  }
}

const toHeader = ({ line, at, bytes, type, identity }: SealedWith): Buffer =>
  Buffer.from(`${line} ${at} ${bytes} ${type} ${identity}`)

/** The text of the template goes on a line of its own, so that its quotes need no escapes. */
function printDraft ({ mapping, template, ...draft }: Draft): string {
  const { text, links } = template ?? {}
  const head = printJson({ ...draft, ...mapping && { isSimple: true }, ...links && { links } })
  return text === undefined ? head : `${head}\n${text}`
}

const mappingsByType: ReadonlyMap<string, Mapping> = new Map(mappings.map(mapping => [mapping.type, mapping]))

function parseDraft (printed: string): Draft {
  const end = printed.indexOf('\n')
  const { isSimple, links, ...draft } = parseStored(end < 0 ? printed : printed.slice(0, end)) as Record<string, any>
  return {
    ...draft,
    ...isSimple === true && { mapping: mappingsByType.get(draft.type)! },
    ...end >= 0 && { template: new RecordTemplate({ type: draft.type, links, text: printed.slice(end + 1) }) }
  } as Draft
}
