/**
 * `npm run servers -- sekmet [files]`, or `helios`: the suites that run on HAPI in `npm test`, on another FHIR server,
 * which it installs and starts. A test that fails must be explained by a known difference of that server (servers.ts),
 * and a difference must be met by some test when all suites run. The last lines are a table: suite × passed, failed,
 * and the differences of the server.
 */
import { startHelios } from './helios.js'
import { startSekmet } from './sekmet.js'
import { runSuite } from './run-suites.js'
import { resourceGroups, servers, suites } from './servers.js'

const starts = { sekmet: startSekmet, helios: startHelios } satisfies Record<keyof typeof servers, unknown>
const [name, ...files] = process.argv.slice(2)
if (name !== 'sekmet' && name !== 'helios') {
  console.error(`Usage: npm run servers -- <${Object.keys(servers).join('|')}> [test files]`)
  process.exit(2)
}
const known = servers[name]
process.env.RESOURCE_GROUPS ??= resourceGroups
const server = await starts[name](console.error)
const met = new Set<string>()
const rows: string[] = []
try {
  for (const file of files.length > 0 ? files : suites) {
    const { passed, failed, explained, unexplained } = await runSuite(file, { url: server.url, name, known })
    for (const { path, title, shows } of unexplained) console.log(`Not explained: ${path} > ${title}\n${shows}\n`)
    for (const what of Object.keys(explained)) met.add(what)
    rows.push(
      `| ${file} | ${passed} | ${failed} | ${unexplained.length} | ${
        Object.entries(explained).map(([what, count]) => `${count} × ${what}`).join(' ')
      } |`
    )
    console.error(rows.at(-1))
    if (unexplained.length > 0) process.exitCode = 1
  }
} finally {
  await server.stop()
}
const outOfDate = known.differences.filter(({ server, explains }) => explains.length > 0 && !met.has(server))
if (files.length === 0 && outOfDate.length > 0) {
  for (const { server } of outOfDate) console.log(`No test shows it any more: ${server}`)
  process.exitCode = 1
}
console.log([
  '| suite | passed | failed | not explained | what the server does otherwise |',
  '|---|---|---|---|---|',
  ...rows
].join('\n'))
