import { parseLocation } from '../../tenant-guard/writes/stored-resource.js'
import { fails, holds, holdsIf, formatStatus, type Check, type CheckObservation } from './check.js'
import { parseEntries, type Draft, type TestTenant } from './test-tenant.js'
import { buildObservation, patient } from './write-checks.js'

/** Checks of several writes in one request. */
export const bundleChecks: readonly Check[] = [
  {
    name: 'transaction',
    title: 'A transaction stores all its entries and resolves the references between them',
    otherwise: 'degraded',
    gateway: 'Transactions below /v1/fhir and bulk imports fail.',
    remedy:
      'Turn on transactions. Azure: the FHIR service of Health Data Services supports them, the older API for FHIR does not.',
    examine: async trial => await checkTransaction(trial)
  },
  {
    name: 'transaction-whole',
    title: 'A transaction with a failing entry changes nothing',
    otherwise: 'blocks',
    gateway: 'It tells clients that nothing was done, although something was.',
    remedy: 'Make the server perform transactions completely or not at all.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      const before = (await trial.search('Observation', [], { count: 0, total: 'accurate' }))?.total
      const stale = {
        resource: trial.withTags({ ...patient, id, gender: 'other' } as Draft),
        request: { method: 'PUT', url: `Patient/${id}`, ifMatch: 'W/"clinigate-never"' }
      }
      const response = await trial.sendBundle('transaction', [
        { ...toCreateEntry(trial, buildObservation()), fullUrl: `urn:uuid:${trial.newId()}` },
        stale
      ])
      if (response.status === 404 || response.status === 405 || response.status === 501) {
        return fails('transactions are not supported', 'degraded')
      }
      const after = (await trial.search('Observation', [], { count: 0, total: 'accurate' }))?.total
      return holdsIf(
        response.status >= 400 && before === after,
        `it was answered with ${formatStatus(response)}, or part of it was done`
      )
    }
  },
  {
    name: 'batch',
    title: 'Batches are performed',
    otherwise: 'degraded',
    gateway: 'It always performs batches itself, entry by entry.',
    remedy: 'Nothing. Clients do not notice.',
    examine: async trial => {
      const response = await trial.sendBundle('batch', [{ request: { method: 'GET', url: 'Patient/clinigate-probe' } }])
      return holds(
        parseEntries(response).length === 1 ? undefined : 'by the gateway, because the server does not support them'
      )
    }
  }
]

const toCreateEntry = (trial: TestTenant, resource: Draft) => ({
  resource: trial.withTags(resource),
  request: { method: 'POST', url: resource.resourceType }
})

async function checkTransaction (trial: TestTenant): Promise<CheckObservation> {
  const fullUrl = `urn:uuid:${trial.newId()}`
  const response = await trial.sendBundle('transaction', [
    { ...toCreateEntry(trial, buildObservation(fullUrl)), fullUrl: `urn:uuid:${trial.newId()}` },
    { ...toCreateEntry(trial, patient), fullUrl }
  ])
  const [first, second] = parseEntries(response)
  const id = first?.resource?.id ?? parseLocation(first?.response?.location, { type: 'Observation' })?.id
  const subject = second?.resource?.id ?? parseLocation(second?.response?.location, { type: 'Patient' })?.id
  if (id === undefined || subject === undefined) return fails(`it was answered with ${formatStatus(response)}`)
  const { reference } = ((await trial.read('Observation', id)).subject ?? {}) as { reference?: string }
  return holdsIf(reference === `Patient/${subject}`, 'a reference between entries was not resolved')
}
