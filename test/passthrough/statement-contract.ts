import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'

interface Stated {
  readonly type: string
  readonly interaction?: ReadonlyArray<{ readonly code: string }>
  readonly searchParam?: ReadonlyArray<{ readonly name: string, readonly type: string }>
  readonly searchInclude?: readonly string[]
  readonly searchRevInclude?: readonly string[]
  readonly operation?: ReadonlyArray<{ readonly name: string }>
  readonly [flag: string]: unknown
}

/** Types to try: much used, with many relations, and shared by all. */
const tried = ['Patient', 'Observation', 'ServiceRequest', 'Binary', 'ValueSet', 'Subscription']

/**
 * The CapabilityStatement of raw FHIR matches what the gateway does. `searches` are types whose search parameters the
 * server knows.
 */
export async function testStatement (
  t: Test,
  settings: GatewaySettings,
  searches: readonly string[]
): Promise<void> {
  const gateway = await startGateway(t, { ...settings, plans: unlimitedPlans })
  const client = await createGatewayClient(gateway)
  const {
    rest: [{ resource, interaction: onSystem = [], searchParam: ofAll }]
  } = (await client.send('GET', 'fhir/metadata')).body
  const findStated = (type: string): Stated => resource.find((stated: Stated) => stated.type === type) ?? { type }

  await t.test('an interaction is available when the statement has it, and 405 when it has not', async t => {
    for (const type of tried) await tryInteractions(t, client, findStated(type))
    for (const code of ['batch', 'transaction']) {
      const { status } = await client.send('POST', 'fhir', { resourceType: 'Bundle', type: code }, fhir)
      t.equal(
        status === 405 || status === 404,
        !onSystem.some((stated: { code: string }) => stated.code === code),
        code
      )
    }
  })
  await t.test('each stated search parameter is supported', async t => {
    for (const type of searches) {
      for (const { name, type: kind } of [...findStated(type).searchParam!, ...ofAll]) {
        const { status, text } = await client.send(
          'GET',
          `fhir/${type}?${name}=${encodeURIComponent(exampleValue(type, name, kind))}&_count=1`
        )
        t.equal(status, 200, `${type}?${name} (${kind}) ${status === 200 ? '' : text}`)
      }
    }
  })
  await t.test('each stated include is supported', async t => {
    for (const type of searches) {
      const { searchInclude = [], searchRevInclude = [] } = findStated(type)
      const requested = [
        ...searchInclude.map(value => `_include=${value}`),
        ...searchRevInclude.map(value => `_revinclude=${value}`)
      ]
      for (let from = 0; from < requested.length; from += maxIncludes) {
        const { status, text } = await client.send(
          'GET',
          `fhir/${type}?${requested.slice(from, from + maxIncludes).join('&')}`
        )
        t.equal(status, 200, status === 200 ? `${type}: ${from} and on` : text)
      }
    }
  })
}

const fhir = { 'content-type': 'application/fhir+json' }
const maxIncludes = 60

async function tryInteractions (
  t: Test,
  client: Client,
  { type, interaction = [], operation = [] }: Stated
): Promise<void> {
  const record = {
    resourceType: type,
    ...(type === 'Observation' && { status: 'final', code: { text: 'x' } }),
    ...(type === 'ServiceRequest' && { status: 'active', intent: 'order', subject: { display: 'x' } })
  }
  const path = `fhir/${type}`
  const requests: ReadonlyArray<readonly [string, string, string, unknown?]> = [
    ['read', 'GET', `${path}/x`],
    ['vread', 'GET', `${path}/x/_history/1`],
    ['update', 'PUT', `${path}/x`, record],
    ['patch', 'PATCH', `${path}/x`, []],
    ['delete', 'DELETE', `${path}/x`],
    ['history-instance', 'GET', `${path}/x/_history`],
    ['history-type', 'GET', `${path}/_history`],
    ['create', 'POST', path, record],
    ['search-type', 'GET', path],
    ['search-type', 'POST', `${path}/_search`]
  ]
  for (const [code, method, url, body] of requests) {
    const { status } = await client.send(
      method,
      url,
      body,
      method === 'PATCH' ? { 'content-type': 'application/json-patch+json' } : fhir
    )
    t.equal(
      status !== 405,
      interaction.some(stated => stated.code === code),
      `${code} ${type}: ${status}`
    )
  }
  // Where a datastore lacks it, that is known only once the patient is found.
  const { status: everything } = await client.send('GET', `${path}/x/$everything`)
  t.ok(everything !== 405 || !operation.some(({ name }) => name === 'everything'), `$everything ${type}: ${everything}`)
  for (const name of ['meta', 'graphql', 'diff', 'expunge']) {
    const { status } = await client.send('GET', `${path}/x/$${name}`)
    t.equal(
      status !== 405,
      operation.some(stated => stated.name === name),
      `$${name} ${type}: ${status}`
    )
  }
}

/** A value of the form that a kind of search parameter has. */
function exampleValue (type: string, name: string, kind: string): string {
  if (name === '_tag') return 'urn:x|x'
  if (kind === 'composite') return composites[`${type}.${name}`] ?? 'a$b'
  return { date: '2026-03-14', number: '1', quantity: '5.4', reference: 'Patient/x', uri: 'urn:x' }[kind] ?? 'x'
}

const composites: Readonly<Record<string, string>> = {
  'Observation.code-value-date': 'a$2026',
  'Observation.code-value-quantity': 'a$5',
  'Observation.combo-code-value-quantity': 'a$5',
  'Observation.component-code-value-quantity': 'a$5'
}
