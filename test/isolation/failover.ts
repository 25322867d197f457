import Database from 'better-sqlite3'
import type { FhirServer } from '../harness/fhir-server.js'
import type { Stores } from './attack-world.js'

/** HAPI keeps the tags that each version had; those of the present one can be taken off. */
export const handOverOnHapi: Stores['handOver'] = async (server, former, latter) => {
  const record = `${former.resourceType}/${former.id}`
  await require(server, 'PUT', record, former)
  await require(server, 'POST', `${record}/$meta-delete`, {
    resourceType: 'Parameters',
    parameter: [{ name: 'meta', valueMeta: { tag: former.meta?.tag } }]
  })
  await require(server, 'PUT', record, latter)
}

/** A server that replaces the tags of a record with those of its update. */
export const handOverByUpdate: Stores['handOver'] = async (server, former, latter) => {
  for (const version of [former, latter]) {
    await require(server, 'PUT', `${version.resourceType}/${version.id}`, version)
  }
}

/** The sandbox never takes a tag off, so the text of the first version is exchanged behind its back. */
export const handOverInSandbox = (file: string): Stores['handOver'] => async (server, former, latter) => {
  const record = `${former.resourceType}/${former.id}`
  await require(server, 'PUT', record, { ...latter, code: { text: 'before' } })
  await require(server, 'PUT', record, latter)
  const db = new Database(file)
  const find = db.prepare(
    'SELECT v.rowid AS row, v.text AS text FROM version v JOIN resource r ON r.pk = v.pk WHERE r.type = ? AND r.id = ? AND v.version = 1'
  )
  const { row, text } = find.get(former.resourceType, former.id) as { row: number, text: string }
  const { meta } = JSON.parse(text)
  db.prepare('UPDATE version SET text = ? WHERE rowid = ?').run(
    JSON.stringify({ ...former, meta: { ...meta, tag: former.meta?.tag } }),
    row
  )
  db.close()
}

async function require (server: FhirServer, ...request: Parameters<FhirServer['send']>): Promise<void> {
  const { status, body } = await server.send(...request)
  if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${status} ${JSON.stringify(body)}`)
}
