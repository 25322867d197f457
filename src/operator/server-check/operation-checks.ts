import type { BackendResponse } from '../../backends/backend.js'
import { verifyOwned } from '../../tenant-guard/verify-owned.js'
import { parseCapabilities } from '../../tenant-guard/capabilities.js'
import type { BackendIssue } from '../../tenant-guard/operations/backend-issues.js'
import { isNotOffered } from '../../tenant-guard/operations/validate.js'
import { formatTenantToken } from '../../tenant-guard/restrict.js'
import { fails, holdsIf, formatStatus, type Check, type CheckObservation } from './check.js'
import { parseJsonBody, parseSearchset, type Draft, type TestTenant } from './test-tenant.js'
import { buildObservation, patient } from './write-checks.js'

/** Checks of the server's operations. */
export const operationChecks: readonly Check[] = [
  {
    name: 'everything',
    title: "$everything returns a patient and the patient's records",
    otherwise: 'degraded',
    gateway: 'Patient/<id>/$everything is answered with 400.',
    remedy: 'Turn on the operation if clients need it.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      const about = await trial.store(buildObservation(`Patient/${id}`))
      const response = await trial.send({
        method: 'GET',
        path: `Patient/${id}/$everything?_count=100`,
        headers: { 'cache-control': 'no-cache' }
      })
      const { matches = [], included = [] } = parseSearchset(response) ?? {}
      return holdsIf(
        [...matches, ...included].some(resource => (resource as { id?: unknown }).id === about.id),
        response.status === 200 ? "the patient's records are missing" : `it was answered with ${formatStatus(response)}`
      )
    }
  },
  {
    name: 'everything-dates',
    title: '$everything obeys start and end',
    otherwise: 'degraded',
    gateway: 'It refuses start and end with 400, except on servers of Microsoft.',
    remedy: 'Nothing. Clients search each type by its dates instead.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      const earlier = { ...buildObservation(`Patient/${id}`), effectiveDateTime: '2001-01-01' } as Draft
      const { id: about } = await trial.store(earlier)
      const response = await trial.send({
        method: 'GET',
        path: `Patient/${id}/$everything?start=2020-01-01&_count=100`,
        headers: { 'cache-control': 'no-cache' }
      })
      const { matches = [], included = [] } = parseSearchset(response) ?? {}
      return holdsIf(
        ![...matches, ...included].some(resource => (resource as { id?: unknown }).id === about),
        'a record from before start was returned'
      )
    }
  },
  {
    name: 'validate',
    title: '$validate checks a resource',
    otherwise: 'degraded',
    gateway: 'POST <type>/$validate is answered with 501.',
    remedy: 'Turn on the operation if clients need it.',
    examine: async trial => {
      const response = await trial.send({
        method: 'POST',
        path: 'Patient/$validate',
        body: JSON.stringify(trial.withTags(patient))
      })
      const { resourceType, issue } = (parseJsonBody(response) ?? {}) as {
        resourceType?: unknown
        issue?: readonly BackendIssue[]
      }
      return holdsIf(
        resourceType === 'OperationOutcome' && !isNotOffered(response, issue),
        `it was answered with ${formatStatus(response)}`
      )
    }
  },
  {
    name: 'export',
    title: "The server's native $export returns the records with a tag and no others",
    otherwise: 'degraded',
    gateway: 'Bulk exports use tagged searches instead, which take longer but return the same records.',
    remedy:
      'Turn on bulk export, with files below the base URL. Azure writes them to a storage account, so the gateway uses searches there.',
    examine: async trial => await checkExport(trial)
  }
]

async function checkExport (trial: TestTenant): Promise<CheckObservation> {
  if (parseCapabilities(await trial.send({ method: 'GET', path: 'metadata' }))?.hasExport !== true) {
    return fails('the CapabilityStatement has no export')
  }
  await trial.store(patient)
  const { length: requested } = (await trial.search('Patient'))?.matches ?? []
  const parameter = [
    { name: '_outputFormat', valueString: 'application/fhir+ndjson' },
    { name: '_type', valueString: 'Patient' },
    { name: '_typeFilter', valueString: `Patient?_tag=${encodeURIComponent(formatTenantToken(trial.tenant))}` }
  ]
  const begun = await trial.send({
    method: 'POST',
    path: '$export',
    headers: { prefer: 'respond-async' },
    body: JSON.stringify({ resourceType: 'Parameters', parameter })
  })
  const job = toRelativePath(trial, begun.headers['content-location'])
  if (begun.status !== 202) return fails(`it was answered with ${formatStatus(begun)}`)
  if (job === undefined) return fails('its status URL is not below the base URL')
  const done = await pollJob(trial, job)
  if (done === undefined) {
    await trial.send({ method: 'DELETE', path: job })
    return fails(
      `it was not done after ${(looks * lookMs) / 1_000} s and was cancelled; the gateway would wait for it`,
      'unclear'
    )
  }
  if (done.status !== 200) return fails(`it ended with ${formatStatus(done)}`)
  return await checkExportedFiles(trial, done, requested)
}

const looks = 90
const lookMs = 1_000

/** The final response of a job; undefined after the timeout. */
async function pollJob (trial: TestTenant, job: string): Promise<BackendResponse | undefined> {
  for (let look = 1; look <= looks; look++) {
    const response = await trial.send({ method: 'GET', path: job })
    if (response.status !== 202) return response
    await trial.pause(lookMs)
  }
  return undefined
}

async function checkExportedFiles (
  trial: TestTenant, manifest: BackendResponse, requested: number
): Promise<CheckObservation> {
  const { output } = (parseJsonBody(manifest) ?? {}) as { output?: unknown }
  if (!Array.isArray(output)) return fails('it has no manifest')
  const files = output.map(({ url }) => toRelativePath(trial, url))
  if (files.includes(undefined)) return fails('its files are not below the base URL')
  const texts = (await Promise.all(files.map(file => downloadText(trial, file!))))
    .join('\n')
    .split('\n')
    .filter(line => line.trim() !== '')
  const own = texts.filter(
    text => verifyOwned(JSON.parse(text), { tenant: trial.tenant, type: 'Patient' }) !== undefined
  )
  if (own.length < texts.length) {
    return fails('it contains records without the tag, so exports of organizations will fail', 'blocks')
  }
  return holdsIf(own.length === requested, `it returned ${own.length} of ${requested} records`)
}

/** The maximum size of a download: the records of a check are smaller, so a larger one would be of all tenants. */
const maxBytes = 1_000_000

async function downloadText ({ backend }: TestTenant, path: string): Promise<string> {
  const { body } = await backend.stream({
    path,
    accept: ['application/fhir+ndjson', 'application/ndjson', 'application/x-ndjson'],
    signal: new AbortController().signal
  })
  const chunks: Buffer[] = []
  for await (const chunk of body) {
    chunks.push(chunk)
    if (chunks.reduce((sum, { length }) => sum + length, 0) > maxBytes) break
  }
  const text = Buffer.concat(chunks).toString()
  return text.length > maxBytes ? text.slice(0, text.indexOf('\n')) : text
}

function toRelativePath ({ backend: { baseUrl } }: TestTenant, url: unknown): string | undefined {
  return typeof url === 'string' && url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length + 1) : undefined
}
