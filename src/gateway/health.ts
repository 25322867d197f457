import type { FastifyInstance } from 'fastify'

/** One thing that the gateway needs, and how it is. `degraded` means that some requests will fail or work from old data. */
export interface Check {
  readonly status: 'ok' | 'degraded'
  readonly [detail: string]: unknown
}

/** What `/health` reports: the checks by name, whose failures are found out by asking. */
export interface HealthOptions {
  readonly version: string
  readonly checks: Readonly<Record<string, () => Check | Promise<Check>>>
  readonly now: () => Date
}

/** How long a result serves, and how long a request waits for a new one. */
const goodForMs = 5_000
const patienceMs = 1_000

/** The route `/health`: 200 as long as the process can answer, since only then a restart would help. */
export async function health (scope: FastifyInstance, { version, checks, now }: HealthOptions): Promise<void> {
  const startedAt = now().getTime()
  const remembered = Object.entries(checks).map(([name, check]) => [name, remember(check, now)] as const)
  scope.get('/health', async (_, reply) => {
    const results = Object.fromEntries(await Promise.all(remembered.map(async ([name, check]) => [name, await check()] as const)))
    const isGood = Object.values(results).every(({ status }) => status === 'ok')
    reply.header('cache-control', 'no-store')
    return {
      status: isGood ? 'ok' : 'degraded',
      version,
      uptimeSeconds: Math.floor((now().getTime() - startedAt) / 1_000),
      checks: results
    }
  })
}

/** Asks at most once at a time and every few seconds, since anybody may ask for the health. */
function remember (check: () => Check | Promise<Check>, now: () => Date): () => Promise<Check> {
  let latest: { readonly at: number, readonly result: Promise<Check> } | undefined
  return () => {
    const at = now().getTime()
    if (latest === undefined || at - latest.at >= goodForMs) latest = { at, result: answerOf(check) }
    return patiently(latest.result)
  }
}

async function answerOf (check: () => Check | Promise<Check>): Promise<Check> {
  try {
    return await check()
  } catch {
    return { status: 'degraded', reason: 'the check failed' }
  }
}

function patiently (result: Promise<Check>): Promise<Check> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, patienceMs, { status: 'degraded', reason: 'no answer within a second' })
    result.then(resolve).finally(() => clearTimeout(timer))
  })
}
