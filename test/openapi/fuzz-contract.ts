/** The fuzzer of the OpenAPI document against the built gateway, as a test. */
import { dirname } from 'node:path'
import t from 'tap'
import { fuzz } from '../fuzz/fuzz.js'
import { startBuiltGateway } from '../fuzz/gateway.js'
import { installFuzzer } from '../fuzz/install.js'
import { buildMain } from '../harness/built.js'

/**
 * More than installing, building and fuzzing take on a busy machine; by default the runner would end the file after two
 * minutes.
 */
const limitMs = 600_000

interface Fuzzing {
  readonly title: string
  readonly fhirUrl?: string
  readonly seconds: number
  readonly seed: number
}

/**
 * Starts the gateway in front of the given FHIR server, by default the sandbox, and fuzzes it. Skipped where the fuzzer
 * cannot be installed.
 */
export async function testByFuzzing ({ title, fhirUrl, seconds, seed }: Fuzzing): Promise<void> {
  t.setTimeout(limitMs)
  const logged: string[] = []
  const log = (text: string): void => { logged.push(text) }
  const program = await installFuzzer({ log })
  await t.test(title, { skip: program === undefined && logged.join(' '), timeout: limitMs }, async t => {
    const gateway = await startBuiltGateway({ dist: dirname(buildMain()), fhirUrl })
    t.after(gateway.stop)
    const isClean = await fuzz({ program: program!, url: gateway.url, key: gateway.key, seed, seconds, log })
    // With the assertion, since the runner prints no comments.
    t.ok(isClean, `seed ${seed}`, {
      again: `npm run fuzz:openapi -- --seed ${seed} --minutes ${seconds / 60}`,
      findings: extractFindings(logged.join('')).slice(-8_000)
    })
    t.equal(gateway.log(), '', 'the gateway has no error in its log')
  })
}

/** The failures that the fuzzer printed, without its progress. */
const extractFindings = (text: string): string =>
  [...text.matchAll(/=+ FAILURES =+\n([^]*?)\n=+ SUMMARY =+/g)].map(([, findings]) => findings).join('\n') || text
