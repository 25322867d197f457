import type { StoredResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { identityElements, restrict } from '../../tenant-guard/restrict.js'
import { observed, type Check } from './check.js'
import { idsOf, searchsetIn, type TestTenant } from './test-tenant.js'
import { observation } from './write-checks.js'

/** Checks of how the server orders, limits and shortens search results. */
export const orderChecks: readonly Check[] = [
  {
    name: 'order',
    title: 'A search can be sorted by the time of the last change',
    otherwise: 'degraded',
    gateway: 'Bulk exports by search fail, and clinigate audit and adopt stop with an error.',
    remedy: 'Make the server support _sort=_lastUpdated and _sort=-_lastUpdated.',
    examine: async trial => {
      const [first, second] = await storeApart(trial)
      const ids: SearchParameter = ['_id', `${first.id},${second.id}`]
      const sorted = async (by: string) => idsOf(await trial.search('Observation', [ids, ['_sort', by]]))
      const [up, down] = [await sorted('_lastUpdated'), await sorted('-_lastUpdated')]
      return observed(
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
      const [first, second] = await storeApart(trial)
      const ids: SearchParameter = ['_id', `${first.id},${second.id}`]
      const within = async (limit: string) => idsOf(await trial.search('Observation', [ids, ['_lastUpdated', limit]]))
      const [late, early] = [second, first].map(({ meta }) => meta.lastUpdated!)
      const isLimited =
        (await within(`ge${late}`)).join() === second.id &&
        (await within(`gt${early}`)).join() === second.id &&
        (await within(`lt${late}`)).join() === first.id &&
        (await within(`le${early}`)).join() === first.id
      return observed(isLimited, 'records from outside the limits were found, or others were not')
    }
  },
  {
    name: 'elements',
    title: 'A search returns only the elements that are asked for',
    otherwise: 'degraded',
    gateway: 'It shortens records itself where _elements is requested, and look-ups of owners take longer.',
    remedy: 'Make the server support _elements.',
    examine: async trial => {
      const { id } = await trial.store(observation())
      const { path } = restrict(
        { type: 'Observation', parameters: [['_id', id]], count: 1, shape: identityElements('Observation') },
        trial.tenant
      )
      const found = searchsetIn(await trial.send({ method: 'GET', path, headers: { 'cache-control': 'no-cache' } }))
      const [record] = (found?.matches ?? []) as StoredResource[]
      return observed(record !== undefined && record['code'] === undefined, 'other elements were returned as well')
    }
  }
]

const maxAttempts = 12
const pauseMs = 200

/** Two records that were stored at different times by the server's clock, which may have whole seconds only. */
async function storeApart (trial: TestTenant): Promise<[StoredResource, StoredResource]> {
  const first = await trial.store(observation())
  for (let attempt = 1; ; attempt++) {
    const second = await trial.store(observation())
    if (second.meta.lastUpdated !== first.meta.lastUpdated || attempt === maxAttempts) return [first, second]
    await trial.pause(pauseMs)
  }
}
