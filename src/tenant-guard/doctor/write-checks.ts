import { ExactNumber } from '../../json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { ownRecord } from '../answer.js'
import { fails, holds, seenAs, statusOf, type Check, type Seen } from './check.js'
import { resourceIn, type Draft, type Trial } from './trial.js'

export const patient: Draft = { resourceType: 'Patient', name: [{ family: 'Doctor' }] }

/** How the server stores, reads, changes and deletes a record. */
export const writeChecks: readonly Check[] = [
  {
    name: 'create',
    title: 'A record is created, with its tags and no others',
    otherwise: 'blocks',
    gateway: 'No record is stored, or none is shown: a record belongs to an organization by its tag alone.',
    change: 'Give the gateway\'s credential the right to write, and let the server keep meta.tag as it is sent.',
    isFirst: true,
    examine: async trial => {
      const answer = await trial.post(patient)
      if (answer.status !== 201) return fails(`a create was answered with ${statusOf(answer)}`)
      const { id } = await trial.store(patient)
      const record = await trial.read('Patient', id)
      return seenAs(ownRecord(record, { tenant: trial.tenant, type: 'Patient', id }) !== undefined, 'the record came back without its tag, or with another')
    }
  },
  {
    name: 'write-shows-record',
    title: 'The answer to a write holds the record',
    otherwise: 'degraded',
    gateway: 'It reads each record after it was written: one call more for a write.',
    change: 'Let the server obey Prefer: return=representation.',
    examine: async trial => seenAs(resourceIn(await trial.post(patient)) !== undefined, 'a create was answered without the record')
  },
  {
    name: 'server-ids',
    title: 'Ids that the server gives cannot be guessed',
    otherwise: 'unsafe',
    gateway: 'A guessed id shows nobody another organization\'s record; but ids that count tell how many records there are in all.',
    change: 'HAPI: server_id_strategy UUID.',
    examine: async trial => seenAs(!/^\d+$/.test((await trial.store(patient)).id), 'they are numbers')
  },
  {
    name: 'numbers',
    title: 'A number comes back to the letter: 1.10 and not 1.1',
    otherwise: 'degraded',
    gateway: 'It shows numbers as the server gives them.',
    change: 'There is no setting for it that we know of.',
    examine: async trial => {
      const { valueQuantity } = await trial.store({ ...observation(), valueQuantity: { value: new ExactNumber('1.10'), unit: 'mg' } } as Draft)
      return seenAs(String((valueQuantity as { value?: unknown } | undefined)?.value) === '1.10', 'it came back in another form')
    }
  },
  {
    name: 'gone',
    title: 'What is unknown or deleted is answered with 404 or 410',
    otherwise: 'blocks',
    gateway: 'It cannot tell a deleted record from one that is there.',
    change: 'There is no setting for it that we know of.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      const deleted = await trial.ask({ method: 'DELETE', path: `Patient/${id}` })
      const statuses = [await statusOfRead(trial, id), await statusOfRead(trial, trial.newId())]
      const isGone = deleted.status < 300 && statuses.every(status => status === 404 || status === 410)
      return seenAs(isGone, `a delete was answered with ${deleted.status}, and then reads with ${statuses.join(' and ')}`)
    }
  },
  {
    name: 'update',
    title: 'An update replaces a record and gives it another version',
    otherwise: 'blocks',
    gateway: 'Changes are lost, or clients cannot tell versions apart.',
    change: 'Turn versions on in the server for all types.',
    examine: async trial => await updated(trial)
  },
  {
    name: 'tags-on-update',
    title: 'Tags stay on a record that is updated with them',
    otherwise: 'blocks',
    gateway: 'Records that are changed are shown to nobody.',
    change: 'Let the server keep meta.tag as it is sent.',
    examine: async trial => {
      const before = await trial.store({ ...patient, meta: { tag: [{ system: trial.tenant.system, code: trial.tenant.id }, otherTag] } })
      await trial.put({ ...patient, id: before.id, active: true } as Draft & { id: string })
      const after = await trial.read('Patient', before.id)
      if (ownRecord(after, { tenant: trial.tenant, type: 'Patient' }) === undefined) return fails('the tag was lost, or another came')
      return holds(`tags that an update does not name are ${after.meta.tag?.some(({ system }) => system === otherTag.system) ? 'kept' : 'removed'}; both are fine`)
    }
  },
  {
    name: 'if-match',
    title: 'Of two changes of one version, one is made',
    otherwise: 'blocks',
    gateway: 'A client\'s change can be lost under another\'s.',
    change: 'Let the server obey If-Match on updates.',
    examine: async trial => {
      const { id, meta } = await trial.store(patient)
      const change = (gender: string) => trial.put({ ...patient, id, gender } as Draft & { id: string }, { 'if-match': `W/"${meta.versionId}"` })
      const [first, second] = [await change('male'), await change('female')]
      const { gender } = await trial.read('Patient', id)
      if (first.status !== 200) return fails(`an update of the version that is stored was answered with ${statusOf(first)}`)
      return seenAs([409, 412].includes(second.status) && gender === 'male', `an update of an earlier version was answered with ${statusOf(second)}`, `an earlier version is refused with ${second.status}`)
    }
  },
  {
    name: 'if-match-on-delete',
    title: 'A delete of another version than If-Match names is refused',
    otherwise: 'degraded',
    gateway: 'It looks at the version just before; a change in that moment is deleted with the record.',
    change: 'There is no setting for it that we know of.',
    examine: async trial => {
      const { id, meta } = await trial.store(patient)
      await trial.put({ ...patient, id, active: true } as Draft & { id: string })
      const answer = await trial.ask({ method: 'DELETE', path: `Patient/${id}`, headers: { 'if-match': `W/"${meta.versionId}"` } })
      return seenAs([409, 412].includes(answer.status) && await trial.isThere('Patient', id), 'If-Match was passed over')
    }
  },
  {
    name: 'chosen-ids',
    title: 'A record can be stored under an id that the gateway chooses',
    otherwise: 'degraded',
    gateway: 'Bulk imports fail, since they choose ids so that nothing is stored twice. All else works.',
    change: 'Turn update-as-create on for ids of letters and digits. HAPI: client_id_strategy ALPHANUMERIC.',
    examine: async trial => {
      const answer = await trial.put({ ...patient, id: `d${trial.newId()}` })
      return seenAs(answer.status === 201, `it was answered with ${statusOf(answer)}`)
    }
  },
  {
    name: 'conditional-create',
    title: 'A create with a condition makes one record, however often it is sent',
    otherwise: 'blocks',
    gateway: 'A create with an Idempotency-Key whose answer was lost may be made twice.',
    change: 'Turn conditional creates on for all types.',
    examine: async trial => {
      const value = trial.newId()
      const condition = { 'if-none-exist': `identifier=urn:clinigate:doctor%7C${value}&_tag=${encodeURIComponent(`${trial.tenant.system}|${trial.tenant.id}`)}` }
      const resource = { ...patient, identifier: [{ system: 'urn:clinigate:doctor', value }] } as Draft
      const answers = [await trial.post(resource, condition), await trial.post(resource, condition)]
      const found = await trial.search('Patient', [['identifier', `urn:clinigate:doctor|${value}`]])
      return seenAs(answers[0]!.status === 201 && answers[1]!.status === 200 && found?.matches.length === 1, `sent twice, it was answered with ${answers.map(statusOf).join(' and ')}, and there are ${found?.matches.length ?? 'unknown'}`)
    }
  }
]

const otherTag = { system: 'urn:clinigate:doctor:other', code: 'x' }

/** A record that may refer to another. */
export function observation (subject?: string): Draft {
  return { resourceType: 'Observation', status: 'final', code: { text: 'examination' }, ...subject !== undefined && { subject: { reference: subject } } } as Draft
}

async function statusOfRead (trial: Trial, id: string): Promise<number> {
  return (await trial.ask({ method: 'GET', path: `Patient/${id}` })).status
}

async function updated (trial: Trial): Promise<Seen> {
  const before = await trial.store(patient)
  const answer = await trial.put({ ...patient, id: before.id, gender: 'other' } as Draft & { id: string })
  const after: StoredResource = await trial.read('Patient', before.id)
  if (answer.status !== 200 || after.gender !== 'other') return fails(`an update was answered with ${statusOf(answer)}`)
  const versions = [before.meta.versionId, after.meta.versionId]
  return seenAs(versions.every(version => typeof version === 'string') && versions[0] !== versions[1], 'records have no meta.versionId, or keep it when they are changed')
}
