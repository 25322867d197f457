import type { Test } from 'tap'
import fc from 'fast-check'
import { ExactNumber, toPlainNumbers } from '../../src/json/json.js'
import type { Filter } from '../../src/mappings/core/filter.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { isElement } from '../../src/mappings/core/path.js'
import { mappings } from '../../src/mappings/registry.js'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { anyFieldValues } from '../laws/arbitrary.js'
import { Bodies, createContext, isCanonical, mapLeaves, replaceWithRecords, type Body } from './bodies.js'
import { makeWorld, type World } from './fixture.js'
import type { TestContext } from './location.js'
import { listElements, escapeCommas, isPlain, listMatchingValues } from './search-values.js'

const limitMs = 900_000
/** How many forms of each filter's values are sent; a resource needs as many records, and a few more. */
const maxForms = 8
const samples = 60
/** Values of one filter that are searched in one record. */
const maxValues = 4

/** A value that was sent is found by the filter with the same value, on every FHIR server. */
export async function testSearchLaw (t: Test, fhirUrl: string): Promise<void> {
  t.setTimeout(limitMs)
  t.jobs = 6
  const gateway = await startGateway(t, { fhirUrl, plans: unlimitedPlans })
  const server = createFhirClient(fhirUrl)
  const client = await createGatewayClient(gateway)
  const world = await makeWorld(server, client.tenantId)
  for (const mapping of mappings) {
    t.test(`${mapping.path}: a value that was sent is found by the filter with the same value`, t =>
      testFindsSentValues(t, mapping, { client, server, world }))
  }
}

async function testFindsSentValues (t: Test, mapping: Mapping, { client, server, world }: TestContext): Promise<void> {
  const looked = new Set<string>()
  const sought = new Set<string>()
  const missed: string[] = []
  for (const body of buildLawBodies(mapping, world)) {
    const made = await client.send('POST', mapping.path, body)
    if (made.status !== 201) throw new Error(`${made.status} ${made.text} for ${JSON.stringify(toPlainNumbers(body))}`)
    const id: string = made.data.id
    const stored = await server.read(mapping.type, id)
    for (const [name, filter] of Object.entries(mapping.filters)) {
      const seen = JSON.stringify(listElements(stored, filter))
      for (const value of listSentValues(mapping, name, { body, stored }).slice(0, maxValues)) {
        looked.add(name)
        // Required values are the same in most bodies: a server indexes them in one as in the other.
        const search = `${name}=${value} ${seen}`
        if (sought.has(search)) continue
        sought.add(search)
        const { status, data, text } = await client.send(
          'GET', `${mapping.path}?${new URLSearchParams({ [name]: value, id })}`)
        const isFound = status === 200 && data.total === 1 && data.data[0]?.id === id
        if (!isFound) {
          const sent = JSON.stringify(toPlainNumbers(body[getOwnField(mapping, name) ?? '']))
          missed.push(`${name}=${value} (${filter.kind}; sent ${sent}): ${status === 200 ? data.total : text}`)
        }
      }
    }
  }
  t.strictSame(missed, [])
  t.strictSame(Object.keys(mapping.filters).filter(name => !looked.has(name)), [], 'each filter is looked at')
}

const getOwnField = ({ fields }: Mapping, filterName: string): string | undefined =>
  Object.keys(fields).find(name => {
    const { filter, filterName: other } = fields[name]!.options
    return filter !== undefined && (other ?? name) === filterName
  })

/** The values by which a filter must find a body: of its own field as it was sent, and those of R4's parameter. */
function listSentValues (
  mapping: Mapping,
  name: string,
  { body, stored }: { readonly body: Body; readonly stored: FhirResource }
): string[] {
  const filter = mapping.filters[name]!
  const own = getOwnField(mapping, name)
  const sent = own === undefined || !Object.hasOwn(body, own) ? [] : toSearchValues(body[own], filter)
  return [...new Set([...sent, ...listMatchingValues(stored, filter)])]
}

function toSearchValues (value: unknown, filter: Filter): string[] {
  if (value instanceof ExactNumber) return [value.text]
  if (Array.isArray(value)) return value.flatMap(item => toSearchValues(item, filter))
  if (typeof value !== 'object') {
    const text = String(value)
    if (filter.kind === 'string' && !isPlain(text)) return []
    return [filter.kind === 'token' ? escapeCommas(text) : text]
  }
  return filter.kind === 'token' && isElement(value) ? toTokens(value, filter) : []
}

/** Of a coding, a code with text, or an identifier; the text is the search value where it has no code. */
function toTokens (value: Readonly<Record<string, unknown>>, filter: Filter): string[] {
  const codings = [value, ...[value.codings ?? []].flat() as typeof value[]]
  const codes = codings.flatMap(({ system, code, value: number }) => {
    const token = code ?? number
    return token === undefined ? [] : [token, ...system === undefined ? [] : [`${system}|${token}`]]
  })
  // A Coding that names a system has no place for another code.
  const worded = filter.hasText ? codings : codings.filter(({ system }) => system === undefined)
  const words = [value.text, ...worded.map(({ display }) => display)].filter(text => text !== undefined)
  return (codes.length > 0 ? codes : words).map(token => escapeCommas(String(token)))
}

/** Bodies in which each filter's field has each of its forms once. */
function buildLawBodies (mapping: Mapping, world: World): Body[] {
  const bodies = new Bodies(mapping, withWords(replaceWithRecords(world)))
  const left = new Map(Object.entries(sampleForms(mapping, bodies, world)))
  const made: Body[] = [...bodies.buildFull()]
  for (let count = 0; [...left.values()].some(forms => forms.length > 0); count++) {
    let body = bodies.buildMinimal([...left].filter(([, forms]) => forms.length > 0).map(([name]) => name))
    for (const [name, forms] of left) {
      const index = forms.findIndex(form => bodies.isTaken({ ...body, [name]: form }))
      if (index < 0) continue
      body = { ...body, [name]: forms[index] }
      left.set(name, forms.toSpliced(index, 1))
    }
    made.push(body)
    // A form that no body can hold together with the required fields alone.
    if (count > maxForms * 2) break
  }
  return made
}

/** Values of the fields of filters, one for each form that differs in its members or its characters. */
function sampleForms (
  mapping: Mapping,
  bodies: Bodies,
  world: World
): Record<string, readonly unknown[]> {
  const arbitraries = anyFieldValues(mapping)
  const own = new Set(Object.keys(mapping.filters).map(name => getOwnField(mapping, name)))
  const changes = Array.from({ length: maxForms }, (_, pick) => withWords(replaceWithRecords(world, pick)))
  return Object.fromEntries(bodies.names.map(name => {
    const minimal = bodies.buildMinimal([name])
    const isNew = createNoveltyCheck(mapping, minimal)
    const values = fc.sample(arbitraries[name]!, { numRuns: samples, seed: 11 })
      .map((value, i) => mapLeaves(mapping.fields[name]!.schema, value, changes[i % maxForms]!))
    const forms = new Map<string, unknown>()
    for (const value of values) {
      const body = { ...minimal, [name]: value }
      if (!bodies.isTaken(body)) continue
      const form = [...own.has(name) ? [describeForm(value)] : [], ...isNew(body)].join()
      if (form !== '' && !forms.has(form)) forms.set(form, value)
    }
    const inOrder = [...forms].toSorted(([a], [b]) => a.length - b.length).map(([, value]) => value)
    return [name, inOrder.slice(0, maxForms)]
  }))
}

/** Which filters see a value that a body has in addition to the minimal one, and which value. */
function createNoveltyCheck (mapping: Mapping, minimal: Body): (body: Body) => string[] {
  const filters = Object.values(mapping.filters)
  const toResource = (sent: Body) => mapping.toFhir(mapping.withDefaults(sent, createContext))
  const least = toResource(minimal)
  const before = new Map(filters.map(filter => [filter, new Set(listMatchingValues(least, filter))]))
  return body => {
    const resource = toResource(body)
    return filters
      .filter(filter => listMatchingValues(resource, filter).some(value => !before.get(filter)!.has(value)))
      .map(filter => `${filter.param} ${filter.types?.join()}`)
  }
}

/** The names of the members and the kinds of the values. */
function describeForm (value: unknown): string {
  if (Array.isArray(value)) return `[${describeForm(value[0])}]`
  if (isElement(value)) return `{${Object.keys(value).toSorted().map(name => `${name}:${describeForm(value[name])}`).join()}}`
  return typeof value === 'string' ? value.replace(/[A-Za-z]+/g, 'a').replace(/\d+/g, '1').slice(0, 12) : typeof value
}

const words = ['Word', 'two words', 'one, two', 'Über 5 %', 'a|b', 'back\\slash', 'US$', 'x'.repeat(120), 'far  apart']

/** In place of free text, words that are hard to find. */
function withWords (change: ReturnType<typeof replaceWithRecords>): ReturnType<typeof replaceWithRecords> {
  let count = 0
  return (leaf, schema) => {
    if (schema.type === 'number') return Math.min(schema.maximum ?? 12.5, Math.max(schema.minimum ?? 12.5, 12.5))
    const changed = change(leaf, schema)
    // HAPI finds a canonical only by an http URL, and none that has a dollar sign.
    if (isCanonical(schema)) return 'https://example.org/definition/2'
    const isFree = changed === leaf && typeof leaf === 'string' && schema.enum === undefined &&
      schema.pattern === undefined && ['text', 'words', 'code'].includes(schema.format ?? '')
    if (!isFree) return changed
    const next = `${words[count++ % words.length]} ${count}`
    return next.length > (schema.maxLength ?? Infinity) ? `Word ${count}` : next
  }
}
