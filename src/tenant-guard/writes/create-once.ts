import { setTimeout as pause } from 'node:timers/promises'
import type { BackendAnswer } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { printJson } from '../../json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { escaped } from '../../search-values.js'
import { ask, type Door } from '../door.js'
import type { CreateOnce } from '../interaction.js'
import { withRecord } from './as-stored.js'
import { encodeParameters, tenantToken } from '../restrict.js'
import { markSystem } from './stamp.js'
import { mayBeDone, notCreated, toCreate, wholeAnswer, written } from './writes.js'

/** The record that a create made, now or before. */
export interface Made {
  readonly record: StoredResource
  /** False for a record that an earlier request made; it is shown as it is now. */
  readonly isNew: boolean
}

/** The same with the datastore's answer. */
export interface Answered extends Made { readonly answer: BackendAnswer }

/** How often a create is repeated when another one with the same mark interferes. */
const mostTries = 6
const tryAgainMs = 50

/** Stores a new record, or finds the one that carries a mark: FHIR's conditional create. */
export async function createOnce (door: Door, { type, resource, marks, seenAt, since }: CreateOnce): Promise<Answered> {
  const checked = await toCreate(door, { type, resource }, { code: marks[0], seenAt })
  let sought: readonly string[] = marks
  for (let attempt = 1; ; attempt++) {
    const headers = { ...wholeAnswer, 'if-none-exist': conditionOf(door, sought) }
    const answer = await withRecord(door, await ask(door, { method: 'POST', path: type, headers, body: printJson(checked.resource) }), { type })
    if (answer.status === 201) return { record: written(door, answer, { kind: 'create-once', type }), isNew: true, answer }
    const found = answer.status === 200 ? written(door, answer, { kind: 'create-once', type }) : undefined
    if (found !== undefined && markTime(door, found, sought) >= since.getTime()) return { record: found, isNew: false, answer }
    // An earlier mark leads to an old record, or to a second one besides the newer.
    const isOld = (found !== undefined || answer.status === 412) && sought.length > 1
    // While the first is being stored, HAPI refuses the others instead of returning it.
    const isEarly = answer.status === 409
    if (attempt === mostTries || !(isOld || isEarly)) throw await notCreated(door, answer, checked)
    if (isOld) sought = marks.slice(0, 1)
    else await pause(tryAgainMs * attempt)
  }
}

function conditionOf ({ tenant }: Door, marks: readonly string[]): string {
  if (!marks.every(mark => /^[\w-]{1,64}$/.test(mark))) throw new Error('a mark has 1 to 64 characters of A-Z a-z 0-9 _ -')
  const anyMark = marks.map(mark => `${escaped(markSystem(tenant))}|${mark}`).join(',')
  return encodeParameters([['_tag', anyMark], ['_tag', tenantToken(tenant)]])
}

/** When the request that made a record was first seen, in milliseconds; Infinity where the datastore kept the mark alone. */
function markTime ({ tenant }: Door, { meta: { tag = [] } }: StoredResource, marks: readonly string[]): number {
  const mark = tag.find(({ system, code }) => system === markSystem(tenant) && marks.includes(code!)) as { display?: string } | undefined
  // A server that ignores a condition would return any record of the tenant.
  if (mark === undefined) throw new Failure('BACKEND_ERROR', { message: mayBeDone, cause: { reason: 'a conditional create showed a record that is not what was sought' } })
  const time = Date.parse(mark.display ?? '')
  return Number.isNaN(time) ? Infinity : time
}
