import { ExactNumber } from '../../json/json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { verifyOwned } from '../../tenant-guard/verify-owned.js'
import { fails, holds, holdsIf, formatStatus, type Check, type CheckObservation } from './check.js'
import { parseResource, type Draft, type TestTenant } from './test-tenant.js'

export const patient: Draft = { resourceType: 'Patient', name: [{ family: 'Doctor' }] }

/** How the server stores, reads, changes and deletes a record. */
export const writeChecks: readonly Check[] = [
  {
    name: 'create',
    title: 'A record is created with its tags and no others',
    otherwise: 'blocks',
    gateway: 'No record is stored, or none is returned, because only the tag assigns a record to an organization.',
    remedy: "Give the gateway's credential permission to write, and make the server keep meta.tag unchanged.",
    isFirst: true,
    examine: async trial => {
      const response = await trial.post(patient)
      if (response.status !== 201) return fails(`a create was answered with ${formatStatus(response)}`)
      const { id } = await trial.store(patient)
      const record = await trial.read('Patient', id)
      return holdsIf(
        verifyOwned(record, { tenant: trial.tenant, type: 'Patient', id }) !== undefined,
        'the record came back without its tag or with another one'
      )
    }
  },
  {
    name: 'write-shows-record',
    title: 'The response to a write contains the record',
    otherwise: 'degraded',
    gateway: 'It reads each record after writing it: one more call per write.',
    remedy: 'Make the server obey Prefer: return=representation.',
    examine: async trial =>
      holdsIf(
        parseResource(await trial.post(patient)) !== undefined,
        'the response to a create does not contain the record'
      )
  },
  {
    name: 'server-ids',
    title: 'Ids that the server assigns cannot be guessed',
    otherwise: 'unsafe',
    gateway:
      "A guessed id never shows another organization's record. But sequential ids reveal the total number of records.",
    remedy: 'HAPI: server_id_strategy UUID.',
    examine: async trial => holdsIf(!/^\d+$/.test((await trial.store(patient)).id), 'they are numbers')
  },
  {
    name: 'numbers',
    title: 'A number comes back exactly: 1.10 and not 1.1',
    otherwise: 'degraded',
    gateway: 'It returns numbers as the server sends them.',
    remedy: 'We know of no setting for this.',
    examine: async trial => {
      const { valueQuantity } = await trial.store({
        ...buildObservation(),
        valueQuantity: { value: new ExactNumber('1.10'), unit: 'mg' }
      } as Draft)
      return holdsIf(
        String((valueQuantity as { value?: unknown } | undefined)?.value) === '1.10',
        'it came back in a different form'
      )
    }
  },
  {
    name: 'gone',
    title: 'Unknown and deleted records are answered with 404 or 410',
    otherwise: 'blocks',
    gateway: 'It cannot tell a deleted record from an existing one.',
    remedy: 'We know of no setting for this.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      const deleted = await trial.send({ method: 'DELETE', path: `Patient/${id}` })
      const statuses = [await fetchReadStatus(trial, id), await fetchReadStatus(trial, trial.newId())]
      const isGone = deleted.status < 300 && statuses.every(status => status === 404 || status === 410)
      return holdsIf(
        isGone,
        `a delete was answered with ${deleted.status}, and then reads with ${statuses.join(' and ')}`
      )
    }
  },
  {
    name: 'update',
    title: 'An update replaces a record and gives it a new version',
    otherwise: 'blocks',
    gateway: 'Changes are lost, or clients cannot tell versions apart.',
    remedy: 'Turn on versioning in the server for all types.',
    examine: async trial => await checkUpdate(trial)
  },
  {
    name: 'tags-on-update',
    title: 'An update keeps the tags that it sends',
    otherwise: 'blocks',
    gateway: 'Changed records are returned to nobody.',
    remedy: 'Make the server keep meta.tag unchanged.',
    examine: async trial => {
      const before = await trial.store({
        ...patient,
        meta: { tag: [{ system: trial.tenant.system, code: trial.tenant.id }, otherTag] }
      })
      await trial.put({ ...patient, id: before.id, active: true } as Draft & { id: string })
      const after = await trial.read('Patient', before.id)
      if (verifyOwned(after, { tenant: trial.tenant, type: 'Patient' }) === undefined) {
        return fails('the tag was lost, or another one was added')
      }
      return holds(
        `tags that an update omits are ${after.meta.tag?.some(({ system }) => system === otherTag.system) ? 'kept' : 'removed'}; both are fine`
      )
    }
  },
  {
    name: 'if-match',
    title: 'Of two changes to the same version, only one succeeds',
    otherwise: 'blocks',
    gateway: "One client's change can overwrite another's.",
    remedy: 'Make the server obey If-Match on updates.',
    examine: async trial => await checkConcurrentUpdates(trial)
  },
  {
    name: 'if-match-on-delete',
    title: 'A delete is refused if If-Match names a different version',
    otherwise: 'degraded',
    gateway: 'It checks the version just before the delete. A change made in between is deleted with the record.',
    remedy: 'We know of no setting for this.',
    examine: async trial => {
      const { id, meta } = await trial.store(patient)
      await trial.put({ ...patient, id, active: true } as Draft & { id: string })
      const response = await trial.send({
        method: 'DELETE',
        path: `Patient/${id}`,
        headers: { 'if-match': `W/"${meta.versionId}"` }
      })
      return holdsIf(
        [409, 412].includes(response.status) && (await trial.isThere('Patient', id)),
        'If-Match was ignored'
      )
    }
  },
  {
    name: 'chosen-ids',
    title: 'A record can be stored under an id that the gateway chooses',
    otherwise: 'degraded',
    gateway: 'Bulk imports fail, because they choose ids so that nothing is stored twice. Everything else works.',
    remedy: 'Turn on update-as-create for ids of letters and digits. HAPI: client_id_strategy ALPHANUMERIC.',
    examine: async trial => {
      const response = await trial.put({ ...patient, id: `d${trial.newId()}` })
      return holdsIf(response.status === 201, `it was answered with ${formatStatus(response)}`)
    }
  },
  {
    name: 'conditional-create',
    title: 'A conditional create stores only one record, however often it is sent',
    otherwise: 'blocks',
    gateway: 'A create with an Idempotency-Key may be stored twice if its response was lost.',
    remedy: 'Turn on conditional creates for all types.',
    examine: async trial => {
      const { create, countStored } = prepareConditionalCreate(trial)
      const responses = [await create(), await create()]
      const stored = await countStored()
      return holdsIf(
        responses[0]!.status === 201 && responses[1]!.status === 200 && stored === 1,
        `sent twice, it was answered with ${responses.map(formatStatus).join(' and ')}, and the number of stored records is ${stored ?? 'unknown'}`
      )
    }
  },
  {
    name: 'conditional-create-at-once',
    title: 'Conditional creates that arrive at the same moment store only one record',
    otherwise: 'degraded',
    gateway: 'A create with an Idempotency-Key that reaches two gateways at the same moment may be stored twice; one gateway alone sends it once.',
    remedy: 'Set REDIS_URL where several gateways share this server: they do such a create once then.',
    examine: async trial => {
      // Chance decides whether two of them meet in the server, so it gets several.
      for (let round = 1; round <= 5; round++) {
        const { create, countStored } = prepareConditionalCreate(trial)
        await Promise.all(Array.from({ length: 10 }, create))
        const stored = await countStored()
        if (stored !== 1) return fails(`of ten at once, the number of stored records is ${stored ?? 'unknown'}`)
      }
      return holds()
    }
  }
]

/** A create of one person under the condition that there is none, to be sent as often as one likes. */
function prepareConditionalCreate (trial: TestTenant) {
  const value = trial.newId()
  const headers = {
    'if-none-exist': `identifier=urn:clinigate:doctor%7C${value}&_tag=${encodeURIComponent(`${trial.tenant.system}|${trial.tenant.id}`)}`
  }
  const resource = { ...patient, identifier: [{ system: 'urn:clinigate:doctor', value }] } as Draft
  return {
    create: () => trial.post(resource, headers),
    countStored: async () =>
      (await trial.search('Patient', [['identifier', `urn:clinigate:doctor|${value}`]]))?.matches.length
  }
}

const otherTag = { system: 'urn:clinigate:doctor:other', code: 'x' }

/** A record that may refer to another. */
export function buildObservation (subject?: string): Draft {
  return {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'examination' },
    ...(subject !== undefined && { subject: { reference: subject } })
  } as Draft
}

async function fetchReadStatus (trial: TestTenant, id: string): Promise<number> {
  return (await trial.send({ method: 'GET', path: `Patient/${id}` })).status
}

async function checkUpdate (trial: TestTenant): Promise<CheckObservation> {
  const before = await trial.store(patient)
  const response = await trial.put({ ...patient, id: before.id, gender: 'other' } as Draft & { id: string })
  const after: StoredResource = await trial.read('Patient', before.id)
  if (response.status !== 200 || after.gender !== 'other') {
    return fails(`an update was answered with ${formatStatus(response)}`)
  }
  const versions = [before.meta.versionId, after.meta.versionId]
  return holdsIf(
    versions.every(version => typeof version === 'string') && versions[0] !== versions[1],
    'records have no meta.versionId, or keep it after a change'
  )
}

/** Changes of an earlier version, after another change and at the same moment as others. */
async function checkConcurrentUpdates (trial: TestTenant): Promise<CheckObservation> {
  const { id, meta } = await trial.store(patient)
  const change = (gender: string, version: unknown) =>
    trial.put({ ...patient, id, gender } as Draft & { id: string }, { 'if-match': `W/"${version}"` })
  const [first, second] = [await change('male', meta.versionId), await change('female', meta.versionId)]
  const { gender, meta: { versionId } } = await trial.read('Patient', id)
  if (first.status !== 200) return fails(`an update of the current version was answered with ${formatStatus(first)}`)
  if (![409, 412].includes(second.status) || gender !== 'male') {
    return fails(`an update of an earlier version was answered with ${formatStatus(second)}`)
  }
  // None of the values is the current one: a server may respond to no change with 200 and the same version.
  const atOnce = await Promise.all(['female', 'other', 'unknown'].map(value => change(value, versionId)))
  const performed = atOnce.filter(({ status }) => status === 200).length
  return holdsIf(
    performed === 1,
    `of three updates of one version sent at the same time, ${performed} were performed`,
    `an earlier version is refused with ${second.status}`
  )
}
