import { open, rename } from 'node:fs/promises'
import { plain } from './download.js'
import { refusalOf, type Transfers } from './gateway.js'

/** The result of one line of an import. */
export interface LineResult {
  readonly line: number
  readonly status: string
  readonly code?: string
  readonly message?: string
  readonly field?: string
}

/** The totals of all results. */
export interface Outcome {
  readonly lines: number
  readonly counts: Readonly<Record<string, number>>
  /** The first that failed. */
  readonly failures: readonly LineResult[]
}

const maxFailures = 10

/** Fetches the results of an import into a file, which has its final name only when it is complete. */
export async function fetchResults (transfers: Transfers, jobId: string, to: string): Promise<Outcome> {
  const part = `${to}.part`
  const outcome = await transfers.retry(() => fetchOnce(transfers, jobId, part))
  await rename(part, to)
  return outcome
}

/** They have no ranges, since they grow: after a break they are read from the beginning. */
async function fetchOnce (transfers: Transfers, jobId: string, part: string): Promise<Outcome> {
  const response = await transfers.attempt(`/bulk/jobs/${jobId}/results`, {
    headers: { accept: 'application/x-ndjson, application/json;q=0.5', 'accept-encoding': 'gzip' }
  })
  if (response.statusCode !== 200) throw await refusalOf(response)
  const handle = await open(part, 'w', 0o600)
  const tally = new Tally()
  try {
    for await (const chunk of plain(response.body, response.headers['content-encoding'])) {
      await handle.writeFile(chunk)
      tally.add(chunk)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return tally.outcome()
}

/** Counts results as their bytes arrive. */
class Tally {
  readonly #decoder = new TextDecoder()
  readonly #counts: Record<string, number> = {}
  readonly #failures: LineResult[] = []
  #lines = 0
  #rest = ''

  add (chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#count(JSON.parse(line) as LineResult)
  }

  outcome (): Outcome {
    return { lines: this.#lines, counts: this.#counts, failures: this.#failures }
  }

  #count ({ line, status, code, message, field }: LineResult): void {
    this.#lines++
    this.#counts[status] = (this.#counts[status] ?? 0) + 1
    const isIncluded = status === 'failed' && this.#failures.length < maxFailures
    if (isIncluded) {
      this.#failures.push({
        line,
        status,
        ...(code !== undefined && { code }),
        ...(message !== undefined && { message }),
        ...(field !== undefined && { field })
      })
    }
  }
}
