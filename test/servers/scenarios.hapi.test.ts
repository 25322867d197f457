import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { startBuiltGateway } from '../fuzz/gateway.js'
import { requireRealBackend } from '../harness/backend.js'
import { buildMain } from '../harness/built.js'
import { findFreePort } from '../harness/free-port.js'
import { installSekmet } from './sekmet.js'

/**
 * Steps that pass on the server itself and that the gateway does not support, with the reason that docs/isolation.md
 * gives and how the scenario handles it: it reads the CapabilityStatement and leaves them out.
 */
const refused: Readonly<Record<string, { readonly reason: string, readonly shows: RegExp }>> = {
  'REST conformance smoke test > 14. Answers FHIR XML when asked (Accept application/fhir+xml)': {
    reason: 'a second parser could read the same request differently',
    shows: /^peer does not advertise format xml$/
  },
  'Subscriptions - topic-based (R4 Backport) round trip > 1. Register patient': {
    reason: 'a Subscription sees the records of all organizations',
    shows: /^peer does not advertise resource Subscription$/
  },
  'Subscriptions - rest-hook round trip > 1. Register patient': {
    reason: 'a Subscription sees the records of all organizations',
    shows: /^peer does not advertise resource Subscription$/
  }
}

interface Step { readonly status: string, readonly message: string }

/** SEKMET's scenarios as a client of both: how hospital systems use a FHIR server, by other authors. */
t.setTimeout(600_000)
t.test('each step of SEKMET\'s scenarios that passes on HAPI passes through the gateway too', async t => {
  t.setTimeout(600_000)
  const programs = await installSekmet(line => t.comment(line))
  const gateway = await startBuiltGateway({
    dist: dirname(buildMain()),
    fhirUrl: requireRealBackend().url,
    port: await findFreePort()
  })
  t.after(gateway.stop)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-scenarios-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'settings.yaml'), JSON.stringify({
    peers: {
      server: { base_url: requireRealBackend().url },
      gateway: { base_url: `${gateway.url}/v1/fhir`, auth: { type: 'bearer', token: gateway.key } }
    }
  }))
  const [direct, through] = await Promise.all(
    ['server', 'gateway'].map(peer => runScenarios(programs, folder, peer))
  )
  const passing = [...direct!].filter(([, { status }]) => status === 'passed').map(([name]) => name)
  t.ok(passing.length >= 90, `${passing.length} steps pass on HAPI`)
  for (const name of passing) {
    const { status, message } = through!.get(name) ?? { status: 'absent', message: '' }
    const known = refused[name]
    if (known === undefined) t.equal(status, 'passed', `${name}: ${message}`)
    else t.match(message, known.shows, `${name}: ${known.reason}`)
  }
  const stale = Object.keys(refused).filter(name => !passing.includes(name) || through!.get(name)?.status === 'passed')
  t.strictSame(stale, [], 'nothing is listed as refused that is not')
})

/** Runs all scenarios against a peer. @returns the steps by the names of scenario and step */
async function runScenarios (programs: string, folder: string, peer: string): Promise<Map<string, Step>> {
  const reports = join(folder, peer)
  const settings = join(folder, 'settings.yaml')
  await new Promise<void>(resolve => {
    execFile(
      join(programs, 'sekmet'),
      ['scenario', 'run', 'all', '--no-serve', '--peer', peer, '--config', settings, '--report-dir', reports],
      // A database of its own.
      { cwd: folder, timeout: 400_000, env: { ...process.env, SEKMET_DB: join(folder, `${peer}.db`) } },
      // Its exit code only reports that some step did not pass, as some do not on HAPI itself.
      () => resolve()
    )
  })
  const [report] = readdirSync(reports)
  const scenarios = JSON.parse(readFileSync(join(reports, report!, 'results.json'), 'utf8'))
  return new Map(scenarios.flatMap(({ name, steps }: any) =>
    steps.map((step: any) => [`${name} > ${step.index}. ${step.name}`, step])
  ))
}
