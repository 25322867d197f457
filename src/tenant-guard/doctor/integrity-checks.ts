import { fails, holds, seenAs, statusOf, type Check } from './check.js'
import { resourceIn, type Draft, type Trial } from './trial.js'
import { observation, patient } from './write-checks.js'
import { capabilitiesIn } from '../capabilities.js'

/** How the server watches over references, and what it does that should be off. */
export const integrityChecks: readonly Check[] = [
  {
    name: 'references-checked',
    title: 'A reference to what does not exist is refused',
    otherwise: 'degraded',
    gateway: 'It checks each reference itself before it writes; one to a record that is deleted in that moment, or through another gateway, is stored and leads nowhere.',
    change: 'HAPI: enforce_referential_integrity_on_write. Azure has no such setting.',
    examine: async trial => {
      const answer = await trial.post(observation(`Patient/${trial.newId()}`))
      return seenAs(answer.status >= 400, 'it was stored')
    }
  },
  {
    name: 'referred-to-kept',
    title: 'A record that others refer to is not deleted',
    otherwise: 'degraded',
    gateway: 'A delete that it would answer with 409 is done, and references to the record lead nowhere.',
    change: 'HAPI: enforce_referential_integrity_on_delete. Azure has no such setting.',
    examine: async trial => {
      const { subject } = await referred(trial)
      const answer = await trial.ask({ method: 'DELETE', path: `Patient/${subject}` })
      return seenAs(await trial.isThere('Patient', subject), `the delete was answered with ${statusOf(answer)} and done`)
    }
  },
  {
    name: 'no-cascade',
    title: 'No parameter makes a delete take other records with it',
    otherwise: 'unsafe',
    gateway: 'It never sends the parameter, and refuses it from clients.',
    change: 'HAPI: allow_cascading_deletes false.',
    examine: async trial => {
      const { subject, referrer } = await referred(trial)
      await trial.ask({ method: 'DELETE', path: `Patient/${subject}?_cascade=delete` })
      return seenAs(await trial.isThere('Observation', referrer), 'a record that referred to a deleted one was deleted with it')
    }
  },
  {
    name: 'no-search-in-references',
    title: 'A search in place of a reference is not followed',
    otherwise: 'unsafe',
    gateway: 'It refuses such references, since the server would search the records of all organizations.',
    change: 'HAPI: allow_inline_match_url_references false.',
    examine: async trial => {
      const value = trial.newId()
      await trial.store({ ...patient, identifier: [{ system: 'urn:clinigate:doctor', value }] } as Draft)
      const answer = await trial.post(observation(`Patient?identifier=urn:clinigate:doctor%7C${value}`))
      const { reference } = (resourceIn(answer)?.subject ?? {}) as { reference?: string }
      return seenAs(!/^Patient\/[^?]+$/.test(String(reference)), 'it was followed')
    }
  },
  {
    name: 'no-expunge',
    title: 'Nobody can wipe out a record with its versions',
    otherwise: 'unsafe',
    gateway: 'It never sends _expunge or $expunge, and refuses them from clients.',
    change: 'HAPI: expunge_enabled false, delete_expunge_enabled false.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      await trial.ask({ method: 'DELETE', path: `Patient/${id}?_expunge=true` })
      const deleted = await trial.ask({ method: 'DELETE', path: `Patient/${id}` })
      const history = await trial.ask({ method: 'GET', path: `Patient/${id}/_history` })
      const parameters = { resourceType: 'Parameters', parameter: [{ name: 'expungeDeletedResources', valueBoolean: true }, { name: 'limit', valueInteger: 1 }] }
      const operation = await trial.ask({ method: 'POST', path: `Patient/${id}/$expunge`, body: JSON.stringify(parameters) })
      if (operation.status === 200) return fails('$expunge is performed')
      return seenAs(deleted.status >= 400 || history.status !== 404, 'the parameter _expunge of a delete is obeyed')
    }
  },
  {
    name: 'no-mass-delete',
    title: 'One request deletes one record at most',
    otherwise: 'unsafe',
    gateway: 'It deletes by id alone.',
    change: 'HAPI: allow_multiple_delete false.',
    // Not tried: on a server that passes over the condition it would delete what is not ours.
    examine: async trial => {
      const deletesMany = capabilitiesIn(await trial.ask({ method: 'GET', path: 'metadata' }))?.deletesMany
      return deletesMany === true ? fails('the CapabilityStatement says that a conditional delete may take several; HAPI says so however it is set, and it was not tried', 'unclear') : holds()
    }
  },
  {
    name: 'no-subscriptions',
    title: 'Subscriptions are not evaluated',
    otherwise: 'unsafe',
    gateway: 'It refuses them: a Subscription sees the records of all organizations, and sends them where it says.',
    change: 'HAPI: all of subscription.*_enabled false. Elsewhere: give nobody the right to write Subscription.',
    examine: async trial => await unsubscribed(trial)
  },
  {
    name: 'history',
    title: 'Earlier versions of a record can be read',
    otherwise: 'degraded',
    gateway: 'Reads of a version and _history fail, and it may not know an Idempotency-Key\'s first answer to a change.',
    change: 'Turn the history of all types on.',
    examine: async trial => {
      const { id, meta } = await trial.store(patient)
      await trial.put({ ...patient, id, active: true } as Draft & { id: string })
      const version = await trial.ask({ method: 'GET', path: `Patient/${id}/_history/${meta.versionId}` })
      return seenAs(resourceIn(version)?.meta.versionId === meta.versionId, `a version was answered with ${statusOf(version)}`)
    }
  }
]

async function referred (trial: Trial): Promise<{ readonly subject: string, readonly referrer: string }> {
  const subject = await trial.store(patient)
  return { subject: subject.id, referrer: (await trial.store(observation(`Patient/${subject.id}`))).id }
}

/** Its condition is met by nothing but the trial's own, and its address leads nowhere. */
async function unsubscribed (trial: Trial): Promise<ReturnType<typeof holds>> {
  const draft = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'clinigate doctor',
    criteria: `Patient?_id=${trial.newId()}`,
    channel: { type: 'rest-hook', endpoint: 'https://clinigate-doctor.invalid/', payload: 'application/fhir+json' }
  } as Draft
  const answer = await trial.post(draft)
  const { id } = resourceIn(answer) ?? {}
  if (answer.status !== 201 || id === undefined) return holds('they are refused')
  for (let look = 1; look <= looks; look++) {
    if (resourceIn(await trial.ask({ method: 'GET', path: `Subscription/${id}` }))?.status === 'active') return fails('one became active')
    await trial.pause(lookMs)
  }
  return holds('one was stored and stayed without effect')
}

const looks = 6
const lookMs = 500
