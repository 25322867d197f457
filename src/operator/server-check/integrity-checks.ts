import { fails, holds, holdsIf, formatStatus, type Check } from './check.js'
import { parseResource, type Draft, type TestTenant } from './test-tenant.js'
import { buildObservation, patient } from './write-checks.js'
import { parseCapabilities } from '../../tenant-guard/capabilities.js'

/** Checks of the server's referential integrity, and of features that should be off. */
export const integrityChecks: readonly Check[] = [
  {
    name: 'references-shown',
    title: 'References are returned relative, or with the base URL that is configured',
    otherwise: 'blocks',
    gateway: 'It cannot tell to which record a reference leads: responses lack it, and changes are refused.',
    remedy: "Configure the base URL that the server writes into references, or change the server's to the configured one.",
    examine: async trial => {
      const { subject, referrer } = await storeSubjectAndReferrer(trial)
      const { subject: storedSubject } = await trial.read('Observation', referrer)
      return holdsIf(
        (storedSubject as { reference?: string } | undefined)?.reference === `Patient/${subject}`,
        'a reference came back in another form'
      )
    }
  },
  {
    name: 'references-checked',
    title: 'A reference to a record that does not exist is refused',
    otherwise: 'degraded',
    gateway:
      'It checks each reference itself before it writes. If the target is deleted at the same moment or through another gateway, the reference is stored and points to nothing.',
    remedy: 'HAPI: enforce_referential_integrity_on_write. Azure has no such setting.',
    examine: async trial => {
      const response = await trial.post(buildObservation(`Patient/${trial.newId()}`))
      return holdsIf(response.status >= 400, 'it was stored')
    }
  },
  {
    name: 'referred-to-kept',
    title: 'A record that other records refer to is not deleted',
    otherwise: 'degraded',
    gateway: 'Deletes that should get 409 are performed, and references to the record point to nothing.',
    remedy: 'HAPI: enforce_referential_integrity_on_delete. Azure has no such setting.',
    examine: async trial => {
      const { subject } = await storeSubjectAndReferrer(trial)
      const response = await trial.send({ method: 'DELETE', path: `Patient/${subject}` })
      return holdsIf(
        await trial.isThere('Patient', subject),
        `the delete was performed and answered with ${formatStatus(response)}`
      )
    }
  },
  {
    name: 'no-cascade',
    title: 'No parameter makes a delete remove other records too',
    otherwise: 'unsafe',
    gateway: 'It never sends the parameter and refuses it from clients.',
    remedy: 'HAPI: allow_cascading_deletes false.',
    examine: async trial => {
      const { subject, referrer } = await storeSubjectAndReferrer(trial)
      await trial.send({ method: 'DELETE', path: `Patient/${subject}?_cascade=delete` })
      return holdsIf(
        await trial.isThere('Observation', referrer),
        'a record that referred to the deleted one was deleted too'
      )
    }
  },
  {
    name: 'no-search-in-references',
    title: 'A search instead of a reference is not followed',
    otherwise: 'unsafe',
    gateway: 'It refuses such references, because the server would search the records of all organizations.',
    remedy: 'HAPI: allow_inline_match_url_references false.',
    examine: async trial => {
      const value = trial.newId()
      await trial.store({ ...patient, identifier: [{ system: 'urn:clinigate:doctor', value }] } as Draft)
      const response = await trial.post(buildObservation(`Patient?identifier=urn:clinigate:doctor%7C${value}`))
      const { reference } = (parseResource(response)?.subject ?? {}) as { reference?: string }
      return holdsIf(!/^Patient\/[^?]+$/.test(String(reference)), 'it was followed')
    }
  },
  {
    name: 'no-expunge',
    title: 'Nobody can expunge a record with its versions',
    otherwise: 'unsafe',
    gateway: 'It never sends _expunge or $expunge and refuses them from clients.',
    remedy: 'HAPI: expunge_enabled false, delete_expunge_enabled false.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      await trial.send({ method: 'DELETE', path: `Patient/${id}?_expunge=true` })
      const deleted = await trial.send({ method: 'DELETE', path: `Patient/${id}` })
      const history = await trial.send({ method: 'GET', path: `Patient/${id}/_history` })
      const parameters = {
        resourceType: 'Parameters',
        parameter: [
          { name: 'expungeDeletedResources', valueBoolean: true },
          { name: 'limit', valueInteger: 1 }
        ]
      }
      const operation = await trial.send({
        method: 'POST',
        path: `Patient/${id}/$expunge`,
        body: JSON.stringify(parameters)
      })
      if (operation.status === 200) return fails('$expunge is performed')
      return holdsIf(deleted.status >= 400 || history.status !== 404, 'a delete obeys the parameter _expunge')
    }
  },
  {
    name: 'no-mass-delete',
    title: 'One request deletes at most one record',
    otherwise: 'unsafe',
    gateway: 'It deletes only by id.',
    remedy: 'HAPI: allow_multiple_delete false.',
    // Not tried: a server that ignores the condition would delete records of other tenants.
    examine: async trial => {
      const deletesMany = parseCapabilities(await trial.send({ method: 'GET', path: 'metadata' }))?.deletesMany
      return deletesMany === true
        ? fails(
          'the CapabilityStatement says that a conditional delete can delete several records; HAPI always says so, and it was not tested',
          'unclear'
        )
        : holds()
    }
  },
  {
    name: 'no-subscriptions',
    title: 'Subscriptions are not evaluated',
    otherwise: 'unsafe',
    gateway:
      'It refuses them, because a Subscription sees the records of all organizations and sends them to its endpoint.',
    remedy: 'HAPI: all subscription.*_enabled false. Other servers: give nobody permission to write Subscription.',
    examine: async trial => await checkSubscriptions(trial)
  },
  {
    name: 'history',
    title: 'Earlier versions of a record can be read',
    otherwise: 'degraded',
    gateway:
      'Version reads and _history fail, and the first response of a change with an Idempotency-Key may be unavailable.',
    remedy: 'Turn on history for all types.',
    examine: async trial => {
      const { id, meta } = await trial.store(patient)
      await trial.put({ ...patient, id, active: true } as Draft & { id: string })
      const version = await trial.send({ method: 'GET', path: `Patient/${id}/_history/${meta.versionId}` })
      return holdsIf(
        parseResource(version)?.meta.versionId === meta.versionId,
        `a version read was answered with ${formatStatus(version)}`
      )
    }
  }
]

async function storeSubjectAndReferrer (
  trial: TestTenant
): Promise<{ readonly subject: string, readonly referrer: string }> {
  const subject = await trial.store(patient)
  return { subject: subject.id, referrer: (await trial.store(buildObservation(`Patient/${subject.id}`))).id }
}

/** Creates a Subscription whose criteria match only records of the test tenant, and whose address leads nowhere. */
async function checkSubscriptions (trial: TestTenant): Promise<ReturnType<typeof holds>> {
  const draft = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'clinigate doctor',
    criteria: `Patient?_id=${trial.newId()}`,
    channel: { type: 'rest-hook', endpoint: 'https://clinigate-doctor.invalid/', payload: 'application/fhir+json' }
  } as Draft
  const response = await trial.post(draft)
  const { id } = parseResource(response) ?? {}
  if (response.status !== 201 || id === undefined) return holds('they are refused')
  for (let look = 1; look <= looks; look++) {
    if (parseResource(await trial.send({ method: 'GET', path: `Subscription/${id}` }))?.status === 'active') {
      return fails('one became active')
    }
    await trial.pause(lookMs)
  }
  return holds('one was stored but had no effect')
}

const looks = 6
const lookMs = 500
