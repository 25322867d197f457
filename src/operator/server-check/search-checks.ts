import type { ReadRequest } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { parsePageLink, listSearchPaths } from '../../tenant-guard/reads/pages.js'
import { getIdentityElements, restrict, strictHandling, type SearchRequest } from '../../tenant-guard/restrict.js'
import { fails, holds, holdsIf, formatStatus, type Check, type CheckObservation } from './check.js'
import { getMatchIds, parseSearchset, type Draft, type TestTenant } from './test-tenant.js'
import { buildObservation, patient } from './write-checks.js'

/** How the server finds records. */
export const searchChecks: readonly Check[] = [
  {
    name: 'tag-search',
    title: 'A search by tag finds and counts only records with exactly that system and code',
    otherwise: 'blocks',
    gateway:
      'Each record is still checked before it is returned. But counts include records of other organizations, and each search that returns one is an isolation incident.',
    remedy: 'Make the server index meta.tag, and compare systems and codes case-sensitively.',
    examine: async trial => await checkTagSearch(trial, request => request)
  },
  {
    name: 'tag-search-by-form',
    title: 'A search by tag that is sent as a form finds and counts only records with exactly that system and code',
    otherwise: 'blocks',
    gateway:
      'Each record is still checked before it is returned. But counts of long searches include records of other organizations, and each search that returns one is an isolation incident.',
    remedy: 'Make the server read the form, or both the form and the URL, of POST <type>/_search.',
    examine: async trial =>
      (await trial.send(toFormSearch(restrict({ type: 'Patient', parameters: [], count: 0 }, trial.tenant)))).status === 200
        ? await checkTagSearch(trial, toFormSearch)
        : holds('the server has no search by form')
  },
  {
    name: 'search-after-write',
    title: 'A record is found as soon as its create has been answered',
    otherwise: 'degraded',
    gateway:
      'Clients do not find records that they have just stored, and references to them may be refused for a while.',
    remedy:
      'HAPI: no search cache that ignores Cache-Control: no-cache. Other servers: no read replica or index that lags behind.',
    examine: async trial => {
      for (let round = 1; round <= 3; round++) {
        const { id } = await trial.store(patient)
        if (!getMatchIds(await trial.search('Patient', [['_id', id]])).includes(id)) {
          return fails('it was not found immediately')
        }
      }
      return holds()
    }
  },
  {
    name: 'id-search',
    title: 'Several records are found by id, with only their tags',
    otherwise: 'blocks',
    gateway: 'It cannot look up who owns the records that a new record refers to, and refuses the new record.',
    remedy: 'Make the server support _id with several values, _tag together with it, and _elements.',
    examine: async trial => {
      const ids = [(await trial.store(patient)).id, (await trial.store(patient)).id]
      const { path } = restrict(
        { type: 'Patient', parameters: [['_id', ids.join(',')]], count: 2, shape: getIdentityElements('Patient') },
        trial.tenant
      )
      const found = parseSearchset(await trial.send({ method: 'GET', path, headers: { 'cache-control': 'no-cache' } }))
      const tagged = ((found?.matches ?? []) as StoredResource[]).filter(({ meta }) =>
        meta?.tag?.some(({ code }) => code === trial.tenant.id)
      )
      return holdsIf(
        ids.every(id => tagged.some(record => record.id === id)),
        'not all were found with their tags'
      )
    }
  },
  {
    name: 'pages',
    title: 'Page links are below the base URL, and each record is on one page',
    otherwise: 'blocks',
    gateway: 'Searches with more than one page get 502, because it does not follow links to other addresses.',
    remedy:
      "Configure the server with the address in datastores.<name>.url, or use there the address in the server's links. HAPI: server_address, or a proxy that forwards Host.",
    examine: async trial => await checkPages(trial)
  },
  {
    name: 'totals',
    title: 'A search says how many records match',
    otherwise: 'degraded',
    gateway: 'It requests the number separately: one more call for the first page of a search with several pages.',
    remedy: 'Make the server obey _total=accurate.',
    examine: async trial => {
      await trial.store(buildObservation())
      await trial.store(buildObservation())
      if ((await trial.search('Observation', [], { count: 1, total: 'accurate' }))?.total !== undefined) return holds()
      const { path } = restrict(
        { type: 'Observation', parameters: [], count: 1, shape: [['_summary', 'count']] },
        trial.tenant
      )
      const separate = parseSearchset(
        await trial.send({ method: 'GET', path, headers: { 'cache-control': 'no-cache' } })
      )
      return fails(
        separate?.total === undefined
          ? 'neither _total=accurate nor _summary=count is obeyed, so lists with several pages have no total'
          : '_total=accurate is ignored, _summary=count is not'
      )
    }
  },
  {
    name: 'form-search',
    title: 'A search can be sent as a form',
    otherwise: 'degraded',
    gateway: 'Searches that are too long for a URL fail, such as those with hundreds of references or ids.',
    remedy: 'Make the server support POST <type>/_search.',
    examine: async trial => {
      const { id } = await trial.store(patient)
      await trial.store(patient)
      const { path, form, method } = toFormSearch(
        restrict({ type: 'Patient', parameters: [['_id', id]], count: 50 }, trial.tenant)
      )
      // Of a long search, the client's part is in the form alone.
      const response = await trial.send({
        method,
        path: path.replace(/_id=[^&]*&/, ''),
        form: form!,
        headers: { 'cache-control': 'no-cache' }
      })
      const found = getMatchIds(parseSearchset(response))
      if (response.status === 200 && found.length > 1) {
        return fails('the form is ignored, so a long search finds all records of the organization', 'blocks')
      }
      return holdsIf(
        found.length === 1 && found[0] === id,
        response.status === 200 ? 'it found nothing' : `it was answered with ${formatStatus(response)}`
      )
    }
  },
  {
    name: 'many-values',
    title: 'A search by a thousand values is answered',
    otherwise: 'degraded',
    gateway: 'Searches by very many values are answered with 502, and so are chains with very many matches.',
    remedy: 'Nothing. Clients divide such searches.',
    examine: async trial => {
      const values = Array.from({ length: 1_200 }, (_, i) => `urn:clinigate:doctor|none-${i}`)
      const request = restrict({ type: 'Patient', parameters: [['identifier', values.join()]], count: 1 }, trial.tenant)
      const response = await trial.send(request)
      return holdsIf(parseSearchset(response) !== undefined, `it was answered with ${formatStatus(response)}`)
    }
  },
  {
    name: 'includes',
    title: 'A search can include referenced and referring records',
    otherwise: 'degraded',
    gateway: 'Reads with ?include= and searches with _include, _revinclude or _has find less, or are refused.',
    remedy: 'Make the server support _include and _revinclude.',
    examine: async trial => {
      const subject = await trial.store(patient)
      const referrer = await trial.store(buildObservation(`Patient/${subject.id}`))
      const searchIncluded = async (type: string, id: string, parameter: string) => {
        const { path } = restrict({ type, parameters: [['_id', id]], count: 5 }, trial.tenant)
        return (
          (parseSearchset(
            await trial.send({ method: 'GET', path: `${path}&${parameter}`, headers: { 'cache-control': 'no-cache' } })
          )?.included ?? []) as StoredResource[]
        ).map(record => record.id)
      }
      const forth = await searchIncluded('Observation', referrer.id, '_include=Observation:subject')
      const back = await searchIncluded('Patient', subject.id, '_revinclude=Observation:subject')
      return holdsIf(forth.includes(subject.id) && back.includes(referrer.id), 'the included records are missing')
    }
  },
  {
    name: 'unknown-parameters',
    title: 'A search parameter that the server does not know is refused',
    otherwise: 'degraded',
    gateway:
      'It refuses parameters that R4 does not define. This server ignores R4 parameters that it does not support, so a search finds too many records, all of the same organization.',
    remedy: 'Make the server obey Prefer: handling=strict.',
    examine: async trial => {
      const { path } = restrict({ type: 'Patient', parameters: [['clinigate-doctor', 'x']], count: 1 }, trial.tenant)
      const response = await trial.send({ method: 'GET', path, headers: strictHandling })
      return holdsIf(response.status >= 400, 'it was ignored')
    }
  }
]

/** The same search as a form, with everything in the form as well. */
function toFormSearch ({ path }: ReadRequest): ReadRequest {
  const [type, query = ''] = path.split('?')
  return { method: 'POST', path: `${type}/_search?${query}`, form: query }
}

async function checkTagSearch (
  trial: TestTenant,
  by: (request: ReadRequest) => ReadRequest
): Promise<CheckObservation> {
  const { system, id: code } = trial.tenant
  const { id } = await trial.store(patient)
  const tags = [
    { system, code: code.toUpperCase() },
    { system: `${system}:other`, code },
    { system, code: `${code}-2` },
    { system: system.toUpperCase(), code }
  ]
  const others = await Promise.all(
    tags.map(async tag => (await trial.store({ ...patient, meta: { tag: [tag] } } as Draft)).id)
  )
  const own: SearchRequest = {
    type: 'Patient',
    parameters: [['_id', [id, ...others].join(',')]],
    count: 50,
    total: 'accurate'
  }
  const find = async (request: SearchRequest) =>
    parseSearchset(
      await trial.send({ ...by(restrict(request, trial.tenant)), headers: { 'cache-control': 'no-cache' } })
    )
  const found = await find(own)
  const ids = getMatchIds(found)
  if (!ids.includes(id)) {
    return fails(found === undefined ? 'the search was refused' : 'a record with the tag was not found')
  }
  const isForeign =
    others.some(other => ids.includes(other)) ||
    ((found?.matches ?? []) as StoredResource[]).some(
      ({ meta }) => !meta?.tag?.some(tag => tag.system === system && tag.code === code)
    )
  if (isForeign) return fails('a record with another tag was found')
  const counts = [
    found?.total,
    (await find({ ...own, count: 0 }))?.total,
    (await find({ ...own, total: undefined, shape: [['_summary', 'count']] }))?.total
  ]
  return holdsIf(
    counts.every(count => count === undefined || count === 1),
    'records with another tag were counted'
  )
}

async function checkPages (trial: TestTenant): Promise<CheckObservation> {
  const stored = [
    (await trial.store(buildObservation())).id,
    (await trial.store(buildObservation())).id,
    (await trial.store(buildObservation())).id
  ]
  const seen: string[] = []
  let found = await trial.search('Observation', [['_id', stored.join(',')]], { count: 1 })
  const pagination = describePagination(found?.next)
  for (let page = 1; page <= stored.length + 1; page++) {
    seen.push(...getMatchIds(found))
    if (found?.next === undefined) break
    const link = parsePageLink(found.next, trial.backend.baseUrl, listSearchPaths('Observation'))
    if (link === undefined) return fails(`the link to the next page points to ${toBaseUrl(found.next)}`)
    found = parseSearchset(await trial.send({ method: 'GET', path: link }))
  }
  const isComplete = seen.length === stored.length && stored.every(id => seen.includes(id))
  return holdsIf(
    isComplete,
    `of ${stored.length} records, one per page, ${new Set(seen).size} were found on ${seen.length} pages`,
    pagination
  )
}

function describePagination (next: string | undefined): string | undefined {
  if (next === undefined) return undefined
  if (/[?&]_getpages=/.test(next)) return 'the server stores the result of a search and forgets it after some time'
  return /[?&]_offset=/.test(next) ? 'pages are identified by offset' : 'pages are identified by a token'
}

function toBaseUrl (link: string): string {
  return URL.canParse(link)
    ? `${new URL(link).origin}${new URL(link).pathname.replace(/\/[A-Z]\w+(?:\/_search)?$/, '')}`
    : 'no URL'
}
