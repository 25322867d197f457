import type { StoredResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { getIdentityElements, restrict } from '../../tenant-guard/restrict.js'
import { holdsIf, type Check } from './check.js'
import { getMatchIds, parseSearchset, type TestTenant } from './test-tenant.js'
import { buildObservation } from './write-checks.js'

/** Checks of how the server orders, limits and shortens search results. */
export const orderChecks: readonly Check[] = [
  {
    name: 'order',
    title: 'A search can be sorted by the time of the last change',
    otherwise: 'degraded',
    gateway: 'Bulk exports by search fail, and clinigate audit and adopt stop with an error.',
    remedy: 'Make the server support _sort=_lastUpdated and _sort=-_lastUpdated.',
    examine: async trial => {
      const [first, second] = await storeAtDifferentTimes(trial)
      const ids: SearchParameter = ['_id', `${first.id},${second.id}`]
      const searchSorted = async (by: string) => getMatchIds(await trial.search('Observation', [ids, ['_sort', by]]))
      const [up, down] = [await searchSorted('_lastUpdated'), await searchSorted('-_lastUpdated')]
      return holdsIf(
        up.join() === [first.id, second.id].join() && down.join() === [second.id, first.id].join(),
        'the records were not in that order'
      )
    }
  },
  {
    name: 'time-limits',
    title: 'A search can be limited by the time of the last change',
    otherwise: 'degraded',
    gateway: 'Bulk exports by search fail, and clinigate audit and adopt stop with an error.',
    remedy: 'Make the server support _lastUpdated with the prefixes ge, gt, le and lt.',
    examine: async trial => {
      const [first, second] = await storeAtDifferentTimes(trial)
      const ids: SearchParameter = ['_id', `${first.id},${second.id}`]
      const searchByTime = async (limit: string) =>
        getMatchIds(await trial.search('Observation', [ids, ['_lastUpdated', limit]]))
      const [late, early] = [second, first].map(({ meta }) => meta.lastUpdated!)
      const isLimited =
        (await searchByTime(`ge${late}`)).join() === second.id &&
        (await searchByTime(`gt${early}`)).join() === second.id &&
        (await searchByTime(`lt${late}`)).join() === first.id &&
        (await searchByTime(`le${early}`)).join() === first.id
      return holdsIf(isLimited, 'records from outside the limits were found, or others were not')
    }
  },
  {
    name: 'elements',
    title: 'A search returns only the elements that are asked for',
    otherwise: 'degraded',
    gateway: 'It shortens records itself where _elements is requested, and look-ups of owners take longer.',
    remedy: 'Make the server support _elements.',
    examine: async trial => {
      const { id } = await trial.store(buildObservation())
      const { path } = restrict(
        { type: 'Observation', parameters: [['_id', id]], count: 1, shape: getIdentityElements('Observation') },
        trial.tenant
      )
      const found = parseSearchset(await trial.send({ method: 'GET', path, headers: { 'cache-control': 'no-cache' } }))
      const [record] = (found?.matches ?? []) as StoredResource[]
      return holdsIf(record !== undefined && record['code'] === undefined, 'other elements were returned as well')
    }
  }
]

const maxAttempts = 12
const pauseMs = 200

/** Two records that were stored at different times by the server's clock, which may have whole seconds only. */
async function storeAtDifferentTimes (trial: TestTenant): Promise<[StoredResource, StoredResource]> {
  const first = await trial.store(buildObservation())
  for (let attempt = 1; ; attempt++) {
    const second = await trial.store(buildObservation())
    if (second.meta.lastUpdated !== first.meta.lastUpdated || attempt === maxAttempts) return [first, second]
    await trial.pause(pauseMs)
  }
}
