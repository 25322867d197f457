import { randomUUID } from 'node:crypto'
import type { FhirServer } from '../harness/fhir-server.js'
import { tenantSystem } from '../harness/fhir-server.js'
import type { TestGateway } from '../harness/gateway.js'
import type { Names } from './attacks/attack.js'

interface Parts {
  readonly gateway: TestGateway
  readonly keys: Names
  readonly names: Names
  readonly test: FhirServer
}

/** Real cursors of both tenants and of all kinds, and tampered copies of them. */
export async function collectCursors ({ gateway, keys, names, test }: Parts): Promise<Names> {
  const fetchNextCursor = async (who: string, path: string): Promise<string> => {
    const response = await gateway.inject({ method: 'GET', url: `/v1/${path}`, headers: { 'x-api-key': keys[who]! } })
    const { link = [], data } = JSON.parse(response.body)
    const cursor =
      data?.cursor ??
      /_cursor=([^&]+)/.exec(link.find(({ relation }: { relation: string }) => relation === 'next')?.url ?? '')?.[1]
    if (typeof cursor !== 'string') {
      throw new Error(`no cursor at ${path}: ${response.statusCode} ${response.body.slice(0, 500)}`)
    }
    return cursor
  }
  const cursor = await fetchNextCursor('attacker', 'fhir/Patient?_count=1')
  const middle = Math.floor(cursor.length / 2)
  return {
    cursor,
    theirCursor: await fetchNextCursor('victim', 'fhir/Patient?_count=1'),
    liveCursor: await fetchNextCursor('live', 'fhir/Patient?_count=1'),
    practitionerCursor: await fetchNextCursor('attacker', 'fhir/Practitioner?_count=1'),
    simpleCursor: await fetchNextCursor('attacker', 'patients?count=1'),
    historyCursor: await fetchNextCursor('attacker', `fhir/Patient/${names.ownEdit}/_history?_count=1`),
    theirHistoryCursor: await fetchNextCursor('victim', `fhir/Patient/${names.theirs}/_history?_count=1`),
    otherHistoryCursor: await fetchNextCursor('attacker', `fhir/Basic/${names.inherited}/_history?_count=1`),
    tamperedCursor: `${cursor.slice(0, middle)}${cursor[middle] === 'A' ? 'B' : 'A'}${cursor.slice(middle + 1)}`,
    cutCursor: cursor.slice(0, -4),
    longCursor: `${cursor}AAAA`,
    paddedCursor: `${cursor}=`,
    forgedCursor: Buffer.from(
      JSON.stringify({ link: `Patient?_id=${names.theirs}`, count: 1, expires: 9e15 })
    ).toString('base64url'),
    theirPages: await fetchPageToken(test, names.theirTenant!)
  }
}

/** The server's own token for the next page of the other tenant's records, with which any caller may read on. */
async function fetchPageToken (server: FhirServer, tenantId: string): Promise<string> {
  const { body } = await server.send(
    'GET',
    `Patient?_tag=${encodeURIComponent(`${tenantSystem}|${tenantId}`)}&_count=1`
  )
  const next = body.link?.find(({ relation }: { relation: string }) => relation === 'next')?.url ?? ''
  return /_getpages=([^&]+)/.exec(next)?.[1] ?? randomUUID()
}
