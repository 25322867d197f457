import { STATUS_CODES } from 'node:http'
import { parseStored } from '../json/json.js'
import type { FhirResource } from '../mappings/fhir.js'
import { readUrl, parseInteraction, type Interaction, type Sandbox, type SandboxRequest } from './interaction.js'
import { invalid, buildOutcome, FhirError } from './outcome.js'
import { perform, type SandboxResponse } from './perform.js'
import { replaceReferences } from './references.js'

/**
 * Runs a batch, each entry for itself, or a transaction, all entries or none.
 * @param isVerbose whether the response shows what was written, not only where.
 * @throws {FhirError} for a transaction with the first reason.
 */
export function runBundle (sandbox: Sandbox, body: unknown, isVerbose: boolean): FhirResource {
  const { resourceType, type, entry = [] } = Object(body) as FhirResource
  if (resourceType !== 'Bundle' || !(type === 'batch' || type === 'transaction')) {
    throw invalid('the body must be a Bundle of type batch or transaction')
  }
  if (!Array.isArray(entry)) throw invalid('Bundle.entry must be a list')
  const replies = type === 'batch' ? runBatch(sandbox, entry) : runTransaction(sandbox, entry)
  return {
    resourceType: 'Bundle',
    type: `${type}-response`,
    entry: replies.map((reply, i) => toResponseEntry(reply, isVerbose || getMethod(entry[i]) === 'GET'))
  }
}

function runBatch (sandbox: Sandbox, entries: readonly unknown[]): SandboxResponse[] {
  return entries.map(entry =>
    attempt(() => sandbox.store.runInTransaction(() => perform(sandbox, parseInteraction(sandbox, readEntry(entry)))))
  )
}

function attempt (work: () => SandboxResponse): SandboxResponse {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof FhirError)) throw error
    return { status: error.status, text: JSON.stringify(buildOutcome('error', error.code, error.message)) }
  }
}

// http://hl7.org/fhir/R4/http.html#trules: then come those that only read, whose failure undoes nothing.
const writes: ReadonlyArray<Interaction['kind']> = ['none', 'delete', 'exists', 'create', 'update']

function runTransaction (sandbox: Sandbox, entries: readonly unknown[]): SandboxResponse[] {
  return sandbox.store.runInTransaction(() => {
    const interactions = entries.map(entry => parseInteraction(sandbox, readEntry(entry)))
    const ids = collectAssignedIds(entries, interactions)
    const replies = new Array<SandboxResponse>(entries.length)
    for (const kind of writes) {
      for (const [i, interaction] of interactions.entries()) {
        if (interaction.kind === kind) replies[i] = perform(sandbox, withResolvedReferences(interaction, ids))
      }
    }
    return interactions.map((interaction, i) => replies[i] ?? attempt(() => perform(sandbox, interaction)))
  })
}

function withResolvedReferences (interaction: Interaction, ids: ReadonlyMap<string, string>): Interaction {
  return 'resource' in interaction ? { ...interaction, resource: replaceReferences(interaction.resource, ids) } : interaction
}

/** The reference that replaces each entry's fullUrl from now on: `urn:uuid:…` → `Patient/1`. */
function collectAssignedIds (entries: readonly unknown[], interactions: readonly Interaction[]): Map<string, string> {
  const ids = new Map<string, string>()
  const written = new Set<string>()
  for (const [i, interaction] of interactions.entries()) {
    if (!('id' in interaction)) continue
    const reference = `${interaction.type}/${interaction.id}`
    const { fullUrl } = entries[i] as { fullUrl?: unknown }
    if (typeof fullUrl === 'string') ids.set(fullUrl, reference)
    if (!['create', 'update', 'delete'].includes(interaction.kind)) continue
    if (written.has(reference)) throw invalid('a transaction writes one resource twice')
    written.add(reference)
  }
  return ids
}

function readEntry (entry: unknown): SandboxRequest {
  const { request, resource } = Object(entry) as { request?: Record<string, unknown>, resource?: unknown }
  const { method, url, ifMatch, ifNoneExist } = request ?? {}
  if (typeof method !== 'string' || typeof url !== 'string') {
    throw invalid('an entry needs request.method and request.url')
  }
  return {
    method,
    ...readUrl(url),
    ifMatch: toStringOrUndefined(ifMatch),
    ifNoneExist: toStringOrUndefined(ifNoneExist),
    body: resource
  }
}

function getMethod (entry: unknown): unknown {
  return (Object(entry) as { request?: { method?: unknown } }).request?.method
}

function toStringOrUndefined (value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function toResponseEntry ({ status, text, version }: SandboxResponse, isVerbose: boolean): unknown {
  const response = { status: `${status} ${STATUS_CODES[status]}` }
  if (text === '') return { response }
  const content = parseStored(text) as FhirResource
  if (content.resourceType === 'OperationOutcome' && !version) return { response: { ...response, outcome: content } }
  const resourcePart = isVerbose && { resource: content }
  if (!version) return { ...resourcePart, response }
  const { type, id, version: number, at } = version
  return {
    ...resourcePart,
    response: { ...response, location: `${type}/${id}/_history/${number}`, etag: `W/"${number}"`, lastModified: at }
  }
}
