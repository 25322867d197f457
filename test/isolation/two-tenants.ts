import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import type { Server } from './foreign-ids.js'

/** One thing that one of the tenants does; the numbers choose among all ids and cursors that anybody has seen. */
interface Act { readonly kind: 'patient' | 'observation' | 'read' | 'search' | 'patch' | 'delete' | 'page', readonly who: 0 | 1, readonly pick: number, readonly other: number }

interface Known { readonly id: string, readonly path: 'patients' | 'observations', readonly owner: 0 | 1, readonly patientId?: string, email?: string, isDeleted?: boolean }

/** What everybody should see: every record that was made, and every cursor that was given. */
interface World {
  readonly gateway: TestGateway
  readonly fhirUrl: string
  readonly tenants: ReadonlyArray<{ readonly secret: string, readonly tenantId: string, readonly marker: string }>
  readonly records: Known[]
  readonly cursors: Array<{ readonly owner: 0 | 1, readonly cursor: string }>
}

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('patient', 'observation', 'observation', 'read', 'search', 'patch', 'delete', 'page'),
  who: fc.constantFrom(0 as const, 1 as const),
  pick: fc.nat(1000),
  other: fc.nat(1000)
})

/**
 * Two tenants act at random on one server, with ids and cursors of anybody; after each step the answer is what the model
 * of their own records says, and holds nothing of the other. At the end each stored record has its one tag.
 */
export async function actAtRandom (t: Test, { fhirUrl }: Server, { runs, steps }: { readonly runs: number, readonly steps: number }): Promise<void> {
  const gateway = await startGateway(t, { fhirUrl, plans: { pro: { requestsPerMinute: null, requestsPerMonth: null, overage: true } } })
  let taken = 0
  await fc.assert(fc.asyncProperty(fc.array(act, { minLength: steps, maxLength: steps }), async acts => {
    const tenants = await Promise.all([0, 1].map(async () => ({ ...await gateway.createKey(), marker: `m${randomUUID()}` })))
    const world: World = { gateway, fhirUrl, tenants, records: [], cursors: [] }
    for (const step of acts) {
      await perform(world, step)
      taken++
    }
    await demandOwnTags(world)
  }), { numRuns: runs, endOnFailure: true })
  t.pass(`${taken} steps`)
}

async function perform (world: World, { kind, who, pick, other }: Act): Promise<void> {
  const chosen = world.records[pick % (world.records.length || 1)]
  if (kind === 'patient') return await makePatient(world, who)
  if (kind === 'observation') return await makeObservation(world, who, chosen)
  if (kind === 'search') return await search(world, who, chosen)
  if (kind === 'page') return await page(world, who, pick)
  if (chosen === undefined) return
  if (kind === 'read') return await read(world, who, chosen)
  return kind === 'patch' ? await patch(world, who, { chosen, other }) : await remove(world, who, chosen)
}

async function makePatient (world: World, who: 0 | 1): Promise<void> {
  const { data } = demand(await send(world, who, 'POST', '/v1/patients', { firstName: world.tenants[who]!.marker, lastName: 'Byron' }), 201)
  world.records.push({ id: data.id, path: 'patients', owner: who })
}

async function makeObservation (world: World, who: 0 | 1, chosen: Known | undefined): Promise<void> {
  const patientId = chosen?.id ?? 'nobody'
  const answer = await send(world, who, 'POST', '/v1/observations', { code: world.tenants[who]!.marker, patientId })
  const isOwn = chosen?.path === 'patients' && isSeen(chosen, who)
  const { data } = demand(answer, isOwn ? 201 : 422)
  if (isOwn) world.records.push({ id: data.id, path: 'observations', owner: who, patientId })
}

async function read (world: World, who: 0 | 1, chosen: Known): Promise<void> {
  const { data } = demand(await send(world, who, 'GET', `/v1/${chosen.path}/${chosen.id}`), isSeen(chosen, who) ? 200 : 404)
  if (isSeen(chosen, who) && data.email !== chosen.email) throw new Error('a record has not the state that its tenant gave it')
}

async function patch (world: World, who: 0 | 1, { chosen, other }: { readonly chosen: Known, readonly other: number }): Promise<void> {
  if (chosen.path === 'observations') return await refer(world, who, { chosen, to: world.records[other % world.records.length]! })
  const email = `${world.tenants[who]!.marker}@example.org`
  demand(await send(world, who, 'PATCH', `/v1/patients/${chosen.id}`, { email }), isSeen(chosen, who) ? 200 : 404)
  if (isSeen(chosen, who)) chosen.email = email
}

/** Lets an observation refer to any patient that anybody has seen. */
async function refer (world: World, who: 0 | 1, { chosen, to }: { readonly chosen: Known, readonly to: Known }): Promise<void> {
  const answer = await send(world, who, 'PATCH', `/v1/observations/${chosen.id}`, { patientId: to.id })
  const isAllowed = to.path === 'patients' && isSeen(to, who)
  demand(answer, isSeen(chosen, who) ? isAllowed ? 200 : 422 : 404)
  if (isSeen(chosen, who) && isAllowed) world.records.splice(world.records.indexOf(chosen), 1, { ...chosen, patientId: to.id })
}

async function remove (world: World, who: 0 | 1, chosen: Known): Promise<void> {
  const isReferred = world.records.some(({ patientId, isDeleted }) => patientId === chosen.id && !isDeleted)
  demand(await send(world, who, 'DELETE', `/v1/${chosen.path}/${chosen.id}`), isSeen(chosen, who) ? isReferred ? 409 : 200 : 404)
  if (isSeen(chosen, who) && !isReferred) chosen.isDeleted = true
}

async function search (world: World, who: 0 | 1, chosen: Known | undefined): Promise<void> {
  const own = world.records.filter(record => record.path === 'patients' && isSeen(record, who))
  const { data } = demand(await send(world, who, 'GET', '/v1/patients?count=2'), 200)
  if (data.total !== own.length) throw new Error(`a search counts ${data.total} of ${own.length} own records`)
  if (data.cursor !== undefined) world.cursors.push({ owner: who, cursor: data.cursor })
  if (chosen === undefined) return
  const byId = demand(await send(world, who, 'GET', `/v1/${chosen.path}?id=${chosen.id}`), 200)
  if (byId.data.total !== Number(isSeen(chosen, who))) throw new Error('a search by id finds what its tenant does not have, or misses what it has')
}

async function page (world: World, who: 0 | 1, pick: number): Promise<void> {
  const given = world.cursors[pick % (world.cursors.length || 1)]
  if (given === undefined) return
  const answer = await send(world, who, 'GET', `/v1/patients?cursor=${given.cursor}`)
  const { code } = demand(answer, given.owner === who ? 200 : 400)
  if (given.owner !== who && code !== 'INVALID_CURSOR') throw new Error('another tenant’s cursor is refused in another way')
}

const isSeen = ({ owner, isDeleted }: Known, who: 0 | 1): boolean => owner === who && !isDeleted

interface Answer { readonly status: number, readonly said: string }

/** Sends a request, and refuses an answer that holds anything of the other tenant anywhere. */
async function send ({ gateway, tenants }: World, who: 0 | 1, ...[method, url, payload]: ['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?]): Promise<Answer> {
  const answer = await gateway.inject({ method, url, headers: { 'x-api-key': tenants[who]!.secret }, ...payload && { payload } })
  const other = tenants[1 - who]!
  const everything = JSON.stringify(answer.headers) + answer.body
  if (everything.includes(other.marker) || everything.includes(other.tenantId)) throw new Error(`${method} shows something of the other tenant`)
  return { status: answer.statusCode, said: answer.body }
}

function demand ({ status, said }: Answer, wanted: number): any {
  if (status !== wanted) throw new Error(`answered ${status} in place of ${wanted}: ${said}`)
  return JSON.parse(said)
}

async function demandOwnTags ({ fhirUrl, records, tenants }: World): Promise<void> {
  for (const { path, id, owner, isDeleted } of records) {
    const answer = await fetch(`${fhirUrl}/${path === 'patients' ? 'Patient' : 'Observation'}/${id}`)
    if (isDeleted) {
      if (answer.status !== 410) throw new Error('a deleted record is still there')
      continue
    }
    const { meta } = await answer.json() as { meta: { tag: Array<{ system: string, code: string }> } }
    const codes = meta.tag.filter(({ system }) => system === 'urn:clinigate:tenant').map(({ code }) => code)
    if (codes.join() !== tenants[owner]!.tenantId) throw new Error('a record has not its own tenant’s tag alone')
  }
}
