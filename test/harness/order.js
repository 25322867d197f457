/** The order in which the test files of a run start, and which ones run next to the others. */

/** Files that take half a minute or more, the longest first: one that started last would delay the whole run. */
const longest = [
  'docs/add-a-resource',
  'resources/resources',
  'sync/processes',
  'isolation/mutants.hapi',
  'fuzz/isolation/isolation.hapi',
  'resources/search-law.hapi',
  'dashboard/pages.browser',
  'resources/resources.hapi',
  'isolation/foreign-ids.hapi',
  'cli/bulk',
  'openapi/responses.fuzz.hapi',
  'isolation/attacks.hapi',
  'openapi/responses.hapi',
  'resources/search-law',
  'openapi/responses.fuzz',
  'isolation/attacks',
  'isolation/foreign-ids',
  'servers/scenarios.hapi',
  'isolation/two-tenants.hapi',
  'laws/laws'
]

/** Files that mostly wait, for a server or until a lease ends, and leave the processors to others meanwhile. */
const waiting = [
  'servers/suites.sekmet',
  'jobs/export.hapi',
  'tenant-guard/adopt.hapi',
  'e2e/roles.postgres',
  'tenant-guard/audit.hapi',
  'jobs/export',
  'sync/hung-import',
  'jobs/resumed.hapi',
  'jobs/runner',
  'tenant-guard/export',
  'e2e/bulk-hand-over.postgres',
  'sync/processes.postgres',
  'openapi/docs.browser'
]

const toTestFile = name => `test/${name}.test.ts`

/** The files that are named here, each of which there has to be. */
export const named = [...longest, ...waiting].map(toTestFile)

/**
 * Divides the files of a run.
 * @param {readonly string[]} files
 * @returns {{ busy: string[], waiting: string[] }} both in the order in which to begin them
 */
export function orderFiles (files) {
  const selectFiles = names => names.map(toTestFile).filter(file => files.includes(file))
  return {
    busy: [...selectFiles(longest), ...files.filter(file => !named.includes(file))],
    waiting: selectFiles(waiting)
  }
}
