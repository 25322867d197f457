import { setTimeout as pause } from 'node:timers/promises'
import { json } from 'node:stream/consumers'
import { Failure } from '../../envelope/failures.js'
import { inputFile, type Errand } from './errand.js'
import { withoutMark } from './lines.js'
import { fetched, SourceRefused, type SourceRules } from './fetch-source.js'

export type { SourceRules } from './fetch-source.js'

/** Where lines of an import come from, and the type of those that do not say their own. The URL may hold a secret. */
export interface Source { readonly type: string | null, readonly url: string }

/** The file of a job that holds its {@link Source}s until they are fetched; absent where the input came with the request. */
export const sourcesFile = 'sources'

const mostTries = 5
const firstPauseMs = 1_000

/** Fetches all sources of an import, one after the other, into its input; what was fetched whole before is not fetched again. */
export async function fetchSources (errand: Errand, rules: SourceRules): Promise<void> {
  const { work: { files }, index } = errand
  if (index.has('fetched') || await files.size(sourcesFile) === undefined) return
  const sources = await json(files.read(sourcesFile)) as readonly Source[]
  const last = index.parts().at(-1) ?? { number: 0, at: 0 }
  let at = last.at
  for (let number = last.number; number < sources.length; number++) {
    index.begin({ number, at, type: sources[number]!.type })
    at = await fetchOne(errand, rules, { source: sources[number]!, number, at })
  }
  index.set('fetched')
  await files.remove(sourcesFile)
}

interface Place { readonly source: Source, readonly number: number, readonly at: number }

/** @returns the end of what was fetched */
async function fetchOne (errand: Errand, rules: SourceRules, place: Place): Promise<number> {
  const { signal, work: { log } } = errand
  for (let tries = 1; ; tries++) {
    try {
      return await copy(errand, rules, place)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SourceRefused) throw refusal(place, error.says)
      if (error instanceof Failure) throw error
      // Words of the network may hold the address.
      log.warn({ source: place.number + 1, code: (error as NodeJS.ErrnoException).code }, 'a source of an import could not be fetched')
      if (tries === mostTries) throw refusal(place, 'it can\'t be reached')
      await pause(firstPauseMs * 2 ** (tries - 1), undefined, { signal })
    }
  }
}

async function copy ({ work: { files }, signal }: Errand, rules: SourceRules, { source, at }: Place): Promise<number> {
  const writer = await files.write(inputFile, at)
  let last = newline
  try {
    for await (const chunk of fetched(source.url, rules, signal)) {
      await writer.write(writer.bytes === at ? withoutMark(1, chunk) : chunk)
      last = chunk.at(-1) ?? last
    }
    if (last !== newline) await writer.write(Buffer.of(newline))
  } finally {
    await writer.close()
  }
  return writer.bytes
}

const newline = 0x0A

function refusal ({ number }: Place, says: string): Failure {
  return new Failure('BAD_REQUEST', { message: `Source ${number + 1} could not be fetched: ${says}.` })
}
