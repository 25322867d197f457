import t from 'tap'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { unresolvedCanonicals } from '../../src/tenant-guard/operations/unresolved-canonicals.js'

const count = 100_000

// The whole answer was gone through for each canonical: 50,000 of them stopped the gateway for minutes.
t.test('the canonicals of a validated resource are put back into the answer in one pass', async t => {
  const library = Array.from({ length: count }, (_, at) => `http://example.org/Library/"${at}"`)
  const { resource, restored } = unresolvedCanonicals({ resourceType: 'PlanDefinition', library } as FhirResource)
  const issuesOf = (names: readonly string[]) =>
    names.map(name => ({
      diagnostics: `${name} cannot be resolved, and urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0 neither`
    }))
  const answer = JSON.stringify({ issue: issuesOf((resource as unknown as { library: string[] }).library) })
  t.notMatch(answer, /example\.org/)
  t.equal(restored(answer), JSON.stringify({ issue: issuesOf(library) }))
})
