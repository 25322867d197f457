import fc, { type Arbitrary } from 'fast-check'
import t, { type Test } from 'tap'
import { catalog, type FailureCode } from '../../src/envelope/failures.js'
import { ExactNumber } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { isElement } from '../../src/mappings/core/path.js'
import { mappings } from '../../src/mappings/registry.js'
import { createGatewayClient, unlimitedPlans, type ClientResponse } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { anyFieldValues } from '../laws/arbitrary.js'
import { Bodies, replaceWithRecords } from './bodies.js'
import type { TestContext } from './location.js'
import { makeWorld } from './fixture.js'

/**
 * How many requests of each kind each resource group gets; the seed is fixed, as in the laws, unless LAWS_SEED is set.
 */
const parameters = { numRuns: 15, seed: Number(process.env.LAWS_SEED ?? 4) }

/** In every text that is sent; no error and no log line may contain it. */
const marker = 'qzMARKqz'

const markedText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      '',
      ' ',
      '2026-02-30',
      '-1',
      '1e5',
      'Patient/1',
      'http://',
      '<a>',
      '\n',
      'x'.repeat(70_000),
      '__proto__',
      'a\\,b|c$d'
    )
  )
  .map(text => marker + text)

const unmarked = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '-',
    '.',
    'null',
    'Patient/',
    '/1',
    '|',
    '||',
    'urn:',
    '2026-13-01',
    '2026-01-01T24:00:00Z',
    '٣',
    '\u200b'
  ),
  fc.string({ unit: 'binary', maxLength: 4 })
)

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc
    .constantFrom('-0.0', '1.10', '99999999999999999999999', '1e-300', `0.${'1'.repeat(300)}`)
    .map(text => new ExactNumber(text))
)

/** Names that values have, that every object of the language has, and others. */
const names = fc
  .oneof(
    fc.constantFrom(
      'code',
      'system',
      'value',
      'display',
      'text',
      'codings',
      'start',
      'end',
      'unit',
      'id',
      'reference',
      'extension',
      'resourceType',
      'constructor',
      'toString',
      'length',
      '',
      '~1',
      'a/b',
      '0'
    ),
    fc.string({ maxLength: 5 })
  )
  .filter(name => name !== '__proto__')

/** Any JSON value that is not rejected by the parser. */
const { json } = fc.letrec<{ json: unknown; leaf: unknown }>(tie => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(names, tie('json'), { maxKeys: 4, noNullPrototype: true })
  ),
  leaf: fc.oneof(markedText, unmarked, numbers, fc.boolean(), fc.constant(null))
}))

/** A valid value, with any JSON in one place of it. */
const corruptValue = (valid: Arbitrary<unknown>): Arbitrary<unknown> =>
  fc.tuple(valid, json, fc.array(fc.nat(), { maxLength: 3 })).map(([value, junk, path]) => putAt(value, path, junk))

function putAt (value: unknown, [step, ...path]: readonly number[], junk: unknown): unknown {
  if (step === undefined) return junk
  if (Array.isArray(value) && value.length > 0) {
    return value.with(step % value.length, putAt(value[step % value.length], path, junk))
  }
  if (!isElement(value) || Object.keys(value).length === 0) return junk
  const name = Object.keys(value)[step % Object.keys(value).length]!
  return { ...value, [name]: putAt(value[name], path, junk) }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Fields of a mapping with invalid values, and other names. */
function invalidFields (mapping: Mapping): Arbitrary<Readonly<Record<string, unknown>>> {
  const fields = Object.entries(anyFieldValues(mapping)).map(([name, value]) =>
    fc.tuple(fc.constant(name), fc.oneof(json, corruptValue(value)))
  )
  const readOnly = fc.tuple(fc.constantFrom('id', 'versionId', 'resourceType', ...Object.keys(mapping.fields)), json)
  return fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: fc.oneof(...fields) },
        { weight: 1, arbitrary: readOnly },
        { weight: 1, arbitrary: fc.tuple(names, json) }
      ),
      { minLength: 1, maxLength: 3 }
    )
    .map(entries => Object.fromEntries(entries))
}

function jsonPatches (mapping: Mapping): Arbitrary<unknown> {
  const paths = fc
    .tuple(
      fc.constantFrom(...Object.keys(mapping.fields), 'id', ''),
      fc.constantFrom('', '/0', '/-', '/code', '/0/value', '/~0', '/x/y')
    )
    .map(([name, rest]) => `/${name}${rest}`)
  const operation = fc.record(
    { op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'), path: paths, from: paths, value: json },
    { requiredKeys: ['op', 'path'], noNullPrototype: true }
  )
  return fc.array(fc.oneof({ weight: 8, arbitrary: operation }, { weight: 1, arbitrary: json }), {
    minLength: 1,
    maxLength: 3
  })
}

const queryText = fc
  .oneof(
    markedText,
    unmarked,
    fc.tuple(markedText, markedText).map(texts => texts.join(','))
  )
  .filter(text => text.isWellFormed())
const headerText = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map(code => String.fromCharCode(code)), maxLength: 20 })
  .map(text => marker + text)

function searchRequests ({ path, filters }: Mapping): Arbitrary<Sent> {
  const name = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.constantFrom(...Object.keys(filters), 'id', 'updatedSince', 'sort', 'count', 'cursor')
    },
    { weight: 1, arbitrary: names }
  )
  const modifier = fc.oneof(
    { weight: 5, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom(':text', ':exact', ':missing', ':not') }
  )
  return fc
    .array(fc.tuple(name, modifier, queryText), { minLength: 1, maxLength: 2 })
    .map(pairs => ({
      method: 'GET',
      path: `${path}?${pairs.map(([name, modifier, text]) => `${encodeURIComponent(name + modifier)}=${encodeURIComponent(text)}`).join('&')}`
    }))
}

/** Requests with any text in each header that means something here. */
function withHeaders (path: string): Arbitrary<Sent> {
  const headers = fc.dictionary(
    fc.constantFrom(
      'if-match',
      'if-none-match',
      'idempotency-key',
      'accept',
      'content-type',
      'accept-encoding',
      'prefer',
      'content-encoding',
      'origin',
      'cookie',
      'range',
      'x-forwarded-for',
      'x-http-method-override'
    ),
    headerText,
    { minKeys: 1, maxKeys: 3 }
  )
  return fc
    .tuple(fc.constantFrom('GET', 'PATCH'), headers)
    .map(([method, headers]) => ({ method, path, headers: { ...headers }, ...(method === 'PATCH' && { body: {} }) }))
}

/** Lists the faults of a response. */
function findFaults ({ status, headers, text, body }: ClientResponse): string[] {
  if (status === 304) return text === '' ? [] : ['304 with a body']
  const { data, error, code, message, issues, meta } = body
  const known = catalog[code as FailureCode]
  const isRefusal = status >= 400
  const checks: Record<string, boolean> = {
    'our own trouble': status < 500,
    'media type': headers['content-type'] === 'application/json; charset=utf-8',
    meta:
      meta.status === status &&
      meta.requestId === headers['x-request-id'] &&
      meta.timestamp === headers['x-timestamp'] &&
      [meta.rateLimitTotal, meta.rateLimitRemaining, meta.rateLimitReset].every(limit => limit === null),
    data: isRefusal ? data === null : isElement(data) && error === undefined,
    failure:
      !isRefusal ||
      (known?.status === status && known.title === error && typeof message === 'string' && message !== ''),
    issues:
      !isRefusal ||
      (Array.isArray(issues) && issues.every(isIssue) && (code !== 'VALIDATION_ERROR' || issues.length > 0)),
    'the value comes back': !isRefusal || !text.includes(marker)
  }
  return Object.keys(checks).filter(name => !checks[name])
}

function isIssue ({ severity, code, diagnostics, expression }: Readonly<Record<string, unknown>>): boolean {
  return (
    severity === 'error' &&
    typeof code === 'string' &&
    typeof diagnostics === 'string' &&
    Array.isArray(expression) &&
    expression.length > 0 &&
    expression.every(name => typeof name === 'string')
  )
}

async function testMapping (
  t: Test,
  mapping: Mapping,
  { client, world }: Pick<TestContext, 'client' | 'world'>
): Promise<void> {
  const bodies = new Bodies(mapping, replaceWithRecords(world))
  const valid = bodies.buildMinimal()
  const created = await client.send('POST', mapping.path, bodies.buildFull()[0]!)
  t.equal(created.status, 201, created.text)
  const path = `${mapping.path}/${created.data.id}`
  const requests: Readonly<Record<string, Arbitrary<Sent>>> = {
    POST: invalidFields(mapping).map(fields => ({ method: 'POST', path: mapping.path, body: { ...valid, ...fields } })),
    'POST of anything': json.map(body => ({ method: 'POST', path: mapping.path, body })),
    'a merge': invalidFields(mapping).map(body => ({ method: 'PATCH', path, body })),
    'a JSON Patch': jsonPatches(mapping).map(body => ({ method: 'PATCH', path, body })),
    'a search': searchRequests(mapping),
    headers: withHeaders(path)
  }
  for (const [title, request] of Object.entries(requests)) {
    await t.test(title, async t => {
      await fc.assert(
        fc.asyncProperty(request, async ({ method, path, body, headers }) => {
          const response = await client.send(method, path, body, headers)
          const faults = findFaults(response)
          if (faults.length > 0) {
            throw new Error(`${faults.join(', ')}: ${response.status} ${response.text.slice(0, 1_000)}`)
          }
        }),
        parameters
      )
      t.pass()
    })
  }
}

t.setTimeout(600_000)
t.test(
  'any JSON in any field, any text in any filter or header: never a 5xx of ours, always the envelope, and nothing sent comes back',
  async t => {
    const sandbox = await startTestSandbox(t)
    const gateway = await startGateway(t, { plans: unlimitedPlans, fhirUrl: sandbox.url })
    const client = await createGatewayClient(gateway)
    const world = await makeWorld(createFhirClient(sandbox.url), client.tenantId)
    for (const mapping of mappings) await t.test(mapping.path, t => testMapping(t, mapping, { client, world }))
    const lines = gateway.logged()
    t.strictSame(
      lines.filter(({ level }) => (level as number) >= 50),
      [],
      'no error is logged'
    )
    t.notMatch(JSON.stringify(lines), marker, 'nor anything that was sent')
  }
)
