/** The command `validate` accepts and rejects the same bodies as POST does before it calls the datastore. */
import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { printJson } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { startGateway } from '../harness/gateway.js'
import { anyFieldValues, anySimple } from '../laws/arbitrary.js'
import { validate } from './clinigate.js'

const seed = Number(process.env.LAWS_SEED ?? 4)
const numRuns = Number(process.env.LAWS_RUNS ?? 100)

const junk = fc.constantFrom<unknown>(
  null,
  'x',
  '',
  ' x ',
  7,
  -1,
  true,
  {},
  [],
  [null],
  ['x'],
  [{}],
  { code: 'x' },
  { start: '2030', end: '2020' },
  '2020-02-30',
  'Patient/../x'
)

/**
 * Bodies as texts on one line: valid ones, some with a field spoilt, missing, unknown or sent twice, and some that are
 * no record at all.
 */
function createBodyArbitrary (mapping: Mapping): fc.Arbitrary<string> {
  const valid = anySimple(mapping)
  const values = anyFieldValues(mapping)
  const name = fc.constantFrom(...Object.keys(mapping.fields), 'id', 'resourceType', 'nme', 'constructor')
  const another = fc.constantFrom(...Object.keys(values)).chain(name => values[name]!.map(value => ({ [name]: value })))
  const spoilt = fc.tuple(valid, name, junk).map(([simple, name, value]) => ({ ...simple, [name]: value }))
  const reduced = fc
    .tuple(valid, name)
    .map(([simple, name]) => Object.fromEntries(Object.entries(simple).filter(([other]) => other !== name)))
  const richer = fc.tuple(valid, another).map(([simple, more]) => ({ ...simple, ...more }))
  const text = fc.oneof(valid, spoilt, reduced, richer, junk).map(value => printJson(value))
  const [cut, doubled] = [
    text.map(text => text.slice(0, -1)),
    text.map(text => text.replace('{', '{"status":"x","status":"y",'))
  ]
  return fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 1, arbitrary: cut.filter(text => text !== '') },
    { weight: 1, arbitrary: doubled }
  )
}

const chosen = [
  'patients',
  'observations',
  'consents',
  'appointments',
  'measures',
  'audit-events',
  'medications',
  'notes'
]

t.test('every body gets the same verdict, code, message and issues from both', async t => {
  const { inject, createKey } = await startGateway(t, {
    plans: { pro: { requestsPerMinute: null, requestsPerMonth: null, overage: false } }
  })
  const { secret } = await createKey()
  const post = async (path: string, payload: string) => (await inject({
    method: 'POST', url: `/v1/${path}`, headers: { 'x-api-key': secret, 'content-type': 'application/json' }, payload
  })).json()
  for (const mapping of mappings.filter(({ path }) => chosen.includes(path))) {
    const bodies = fc.sample(createBodyArbitrary(mapping), { seed, numRuns })
    const faults = await validateBodies(mapping, bodies)
    const verdicts = await Promise.all(bodies.map(async body => toVerdict(await post(mapping.path, body))))
    const differing = bodies
      .map((body, i) => ({ body, reported: faults.get(i + 1), responded: verdicts[i] }))
      .filter(({ reported, responded }) => !isDeepStrictEqual(reported, responded))
    t.strictSame(differing, [], mapping.path)
    const valid = bodies.length - faults.size
    t.ok(valid > 5 && faults.size > 5, `${mapping.path}: ${valid} of ${bodies.length} bodies are valid`)
  }
})

/** The command's messages for each body that it rejects, without the lines, by line number. */
async function validateBodies ({ path }: Mapping, bodies: readonly string[]): Promise<Map<number, object>> {
  const { out } = await validate([path, '-', '--json', '--ndjson'], [bodies.join('\n')])
  return new Map(out.split('\n').filter(line => line !== '').map(text => {
    const { line, issues, ...fault } = JSON.parse(text)
    return [line, { ...fault, issues: issues.map(({ line: _, ...issue }: any) => issue) }]
  }))
}

/**
 * Why a response rejects a body; undefined when it does not, or only because the datastore has no record that is
 * referred to.
 */
function toVerdict ({ code, error, message, issues = [] }: any): object | undefined {
  const isDatastores = issues.length > 0 && issues.every((issue: any) => issue.code === 'not-found')
  return code === undefined || isDatastores ? undefined : { code, error, message, issues }
}
