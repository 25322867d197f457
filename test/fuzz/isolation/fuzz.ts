import { Agent, request as httpRequest } from 'node:http'
import { randomBytes } from 'node:crypto'
import fc, { type RunDetails } from 'fast-check'
import { findProblems, formatComparable } from '../../isolation/attack-judge.js'
import { watchCalls, type Outcome } from '../../isolation/attack-sender.js'
import type { AttackWorld } from '../../isolation/attack-world.js'
import { readUntouchableState, checkOwnRecords } from '../../isolation/run-attacks.js'
import { anyRequest, fillNames, type FuzzRequest } from './requests.js'

/** Where and how long to look: until the first of both limits, but for at least `minRequests` requests. */
export interface FuzzEffort {
  readonly seed: number
  readonly minRequests: number
  readonly requests: number
  readonly minutes: number
}

/** The result: how many requests were sent, and the smallest sequence that failed. */
interface FuzzResult { readonly sent: number, readonly failure?: string }

/**
 * Sends sequences of generated requests in the name of one organization. No response, call or log line may contain
 * anything of the other's, none may be our own failure, each must be the same for the other's records as for records
 * that never existed, and after each sequence the other's records must be unchanged.
 */
export async function fuzz (
  world: AttackWorld, { seed, minRequests, requests, minutes }: FuzzEffort
): Promise<FuzzResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const until = performance.now() + minutes * 60_000
  const sender = new Sender(withoutSent(world), agent)
  const isDone = () => sender.sent >= requests || (sender.sent >= minRequests && performance.now() >= until)
  const before = await readUntouchableState(world)
  const property = fc.asyncProperty(
    fc.array(anyRequest, { minLength: 1, maxLength: 50, size: 'max' }),
    async sequence => {
      if (isDone()) return
      for (const request of sequence) await sender.requireSafe(request)
      if ((await readUntouchableState(world)) !== before) throw new Error("what is the other's was changed")
    }
  )
  // Not one check that is interrupted: its last sequence would run on during what follows.
  let result: RunDetails<[FuzzRequest[]]>
  let round = 0
  do result = await fc.check(property, { seed: seed + round++, numRuns: 10 })
  while (!result.failed && !isDone())
  agent.destroy()
  const crossed = await checkOwnRecords(world)
  const failure = result.failed
    ? `${String(result.errorInstance)}\n${result.counterexample?.[0].map(request => JSON.stringify(request)).join('\n')}`
    : crossed.join('\n')
  return { sent: sender.sent, ...failure !== '' && { failure } }
}

/** Names in requests may be stored in the sender's own records, so they are no sign of a leak. */
function withoutSent (world: AttackWorld): AttackWorld {
  const sent = ['theirs', 'theirsTwo', 'theirsGone', 'theirMark', 'theirTenant'].map(name => world.names[name])
  return { ...world, secrets: world.secrets.filter(secret => !sent.includes(secret)) }
}

class Sender {
  sent = 0
  readonly #unknownNames: Readonly<Record<string, string>>

  constructor (readonly world: AttackWorld, readonly agent: Agent) {
    const { names } = world
    const other = {
      other: names.theirs!,
      otherTwo: names.theirsTwo!,
      otherGone: names.theirsGone!,
      otherMark: names.theirMark!,
      otherTenant: names.theirTenant!,
      otherCursor: names.theirCursor!,
      otherPages: names.theirPages!,
      ownCursor: names.cursor!
    }
    this.names = { ...names, ...other }
    // Of equal length each, so that the responses can be compared.
    const unknown = Object.fromEntries(
      Object.entries(other)
        .filter(([name]) => name !== 'ownCursor')
        .map(([name, value]) => [name, toUnknownValue(value)])
    )
    this.#unknownNames = { ...this.names, ...unknown }
  }

  readonly names: Readonly<Record<string, string>>

  async requireSafe (request: FuzzRequest): Promise<void> {
    const requested = fillNames(request, this.names)
    const outcome = await this.#send(requested)
    if (outcome === undefined) return
    const problems = findProblems(this.world, { row: 'fuzz', send: '', status: outcome.status }, outcome)
    if (outcome.status >= 500 && outcome.status !== 501) problems.push(`answered ${outcome.status}`)
    const lines = this.world.gateway
      .readNewLines()
      .filter(line => !line.includes(`"tenantId":"${this.world.names.theirTenant}"`))
    if (
      lines.some(line =>
        [...this.world.secrets, this.world.names.own!, this.world.names.ownMark!].some(text => line.includes(text))
      )
    ) { problems.push('the log shows a record or the other organization') }
    if (problems.length > 0) throw new Error(`${requested.method} ${requested.target}: ${problems.join('; ')}`)
    await this.#requireAsUnknown(request, outcome)
  }

  /**
   * The same request for records that never existed must get the same response; a request that changed something of the
   * sender's own is not repeated.
   */
  async #requireAsUnknown (request: FuzzRequest, first: Outcome): Promise<void> {
    const requested = fillNames(request, this.names)
    const unknownRequest = fillNames(request, this.#unknownNames)
    const isWrite = !['GET', 'HEAD', 'OPTIONS'].includes(requested.method)
    if (
      JSON.stringify(requested) === JSON.stringify(unknownRequest) ||
      (isWrite && first.status < 400 && !requested.target.includes('_search'))
    ) { return }
    const [unknown, again] = [await this.#send(unknownRequest), await this.#send(requested)]
    if (unknown === undefined || again === undefined) return
    const [a, b] = [this.#toComparableText(again), this.#toComparableText(unknown)]
    if (a !== b) {
      throw new Error(
        `${requested.method} ${requested.target} tells what is the other's from what never was:\n  ${a}\n  ${b}`
      )
    }
  }

  #toComparableText (outcome: Outcome): string {
    const others = [...Object.values(this.#unknownNames), ...Object.values(this.names)].filter(
      value => value.length > 8 && !value.startsWith('http')
    )
    const text = others.reduce(
      (text, value) => text.replaceAll(value, '(named)').replaceAll(encodeURIComponent(value), '(named)'),
      formatComparable(outcome, '')
    )
    // A page's cursor is sealed again each time.
    return text.replace(/_cursor=[\w-]+/g, '_cursor=').replace(/\["content-length","\d+"\]/, '')
  }

  async #send ({ method, target, headers, body }: FuzzRequest): Promise<Outcome | undefined> {
    const { gateway, keys } = this.world
    const { hostname, port } = new URL(gateway.url)
    const all = {
      host: 'gateway.test',
      'x-api-key': keys.attacker!,
      'x-request-id': `fuzz-${++this.sent}`,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      ...headers
    }
    const exchange = (): Promise<Outcome> => new Promise((resolve, reject) => {
      const sending = httpRequest(
        { hostname, port, method, path: `/v1/fhir${target}`, headers: all, agent: this.agent },
        response => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () =>
            resolve({
              sent: JSON.stringify([method, target, headers]) + (body ?? ''),
              status: response.statusCode!,
              headers: response.headers as Record<string, string>,
              text: Buffer.concat(chunks).toString(),
              calls: []
            })
          )
        }
      )
      sending.on('error', reject)
      sending.end(body)
    })
    try {
      const { result, calls } = await watchCalls(exchange)
      return { ...result, calls }
    } catch (error) {
      // A request that no client can write is not sent.
      if (['ERR_UNESCAPED_CHARACTERS', 'ERR_INVALID_CHAR'].includes((error as NodeJS.ErrnoException).code ?? '')) {
        return undefined
      }
      throw error
    }
  }
}

/** A text of the same length and look that no record has. */
function toUnknownValue (text: string): string {
  const random = randomBytes(text.length).toString('hex')
  return (
    text.slice(0, 2) +
    [...text.slice(2)]
      .map((char, i) =>
        /[0-9a-f]/.test(char)
          ? random[i]!
          : /[g-z]/.test(char)
            ? 'abcdefghij'[Number.parseInt(random[i]!, 16) % 10]!
            : char
      )
      .join('')
  )
}
