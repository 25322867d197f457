import { setTimeout as pause } from 'node:timers/promises'
import { json } from 'node:stream/consumers'
import { Failure } from '../../envelope/failures.js'
import { requireLines } from '../../files/line-files.js'
import { corruptFile } from '../storage/storage-errors.js'
import { stateOf } from '../job-context.js'
import { checkpointOf, type ImportCheckpoint, type InputState } from './checkpoint.js'
import { inputFile, type ImportContext } from './import-context.js'
import { LineCount, newline, withoutBom } from './lines.js'
import { fetchSource, SourceError, type SourceRules } from './fetch-source.js'

export type { SourceRules } from './fetch-source.js'

/** A URL that lines of an import are fetched from, and the type of lines without one. The URL may contain a secret. */
export interface Source { readonly type: string | null, readonly url: string }

/**
 * The file of a job that holds its {@link Source}s until they are fetched; absent if the input came with the request.
 */
export const sourcesFile = 'sources'

const maxTries = 5
const firstPauseMs = 1_000

/** The parts of an import that fetching needs. */
type Fetching = Pick<ImportContext, 'work' | 'index' | 'signal'>

/**
 * Fetches all sources of an import, one after the other, into its input, except those completely fetched before.
 * @returns the input
 */
export async function fetchSources (fetching: Fetching, rules: SourceRules): Promise<InputState> {
  const { work: { files, job, save }, index } = fetching
  const { sources, parts = 0, ...before } = checkpointOf(job)
  let input = before.input
  if (sources !== undefined) {
    const list = await json(files.read(sourcesFile, { end: sources.bytes, state: sources })) as readonly Source[]
    for (const [number, source] of list.entries()) {
      if (number < parts) continue
      index.begin({ number, at: input?.bytes ?? 0, type: source.type })
      input = await fetchOne(fetching, rules, { source, number, after: input })
      index.commit()
      await save({ checkpoint: { input, sources, parts: number + 1 } satisfies ImportCheckpoint })
    }
    await save({ checkpoint: { input: input!, parts: list.length } satisfies ImportCheckpoint })
    await files.remove(sourcesFile)
  }
  if (input === undefined) throw corruptFile('the input of an import is unknown')
  return input
}

/** A source, its number, and the input before it. */
interface SourceLocation { readonly source: Source, readonly number: number, readonly after: InputState | undefined }

/** @returns the input including the fetched source */
async function fetchOne (fetching: Fetching, rules: SourceRules, sourceLocation: SourceLocation): Promise<InputState> {
  const { signal, work: { log } } = fetching
  for (let tries = 1; ; tries++) {
    try {
      return await copy(fetching, rules, sourceLocation)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SourceError) throw refusal(sourceLocation, error.message)
      if (error instanceof Failure) throw error
      // Network error messages may contain the address.
      log.warn(
        { source: sourceLocation.number + 1, code: (error as NodeJS.ErrnoException).code },
        'a source of an import could not be fetched'
      )
      if (tries === maxTries) throw refusal(sourceLocation, 'it cannot be reached')
      await pause(firstPauseMs * 2 ** (tries - 1), undefined, { signal })
    }
  }
}

async function copy (
  { work: { files }, signal }: Fetching,
  rules: SourceRules,
  { source, after }: SourceLocation
): Promise<InputState> {
  const at = after?.bytes ?? 0
  const writer = await files.write(inputFile, at, after?.mark)
  const count = new LineCount()
  try {
    const refuse = (reason: string): SourceError => new SourceError(reason)
    for await (const chunk of requireLines(fetchSource(source.url, rules, signal), { refuse })) {
      count.add(chunk)
      await writer.write(writer.bytes === at ? withoutBom(1, chunk) : chunk)
    }
    if (!count.isEnded) await writer.write(Buffer.of(newline))
  } finally {
    await writer.close()
  }
  return { ...stateOf(writer), lines: (after?.lines ?? 0) + count.lines, blank: (after?.blank ?? 0) + count.blank }
}

function refusal ({ number }: SourceLocation, message: string): Failure {
  return new Failure('BAD_REQUEST', { message: `Source ${number + 1} could not be fetched: ${message}.` })
}
