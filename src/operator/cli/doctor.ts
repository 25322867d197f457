import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Backend } from '../../backends/backend.js'
import { HttpBackend } from '../../backends/http-backend.js'
import type { Config } from '../../config/schema.js'
import { runChecks, formatLeftovers, type Examination, type Finding, type State } from '../server-check/examine.js'
import { runUntilInterrupted } from './bulk/errors.js'
import { addDatastoreAction } from './datastore.js'
import { ExitWithFindings, Interrupted, type CliContext } from './context.js'

interface Options { readonly url?: string, readonly json?: true }

const help = `
Uses the server as the gateway would, with about fifty records of a tenant created only for this, and deletes them at the
end. Each feature that the gateway relies on gets one of these states:
  works      the feature works as expected
  degraded   the gateway works with limits, which the report explains
  unsafe     anyone who reaches the server without the gateway can do harm
  blocks     the gateway cannot keep its guarantees on this server
  unclear    the state could not be determined

Exit codes: 0 nothing blocks, 1 something blocks or a record could not be deleted, 2 invalid command.

  clinigate doctor live
  clinigate doctor live --json | jq '.findings[] | select(.state != "works")'`

/** Adds the command that tests whether a datastore does what the gateway relies on. */
export function addDoctor (program: Command, context: CliContext): void {
  const command = program.command('doctor').description('test whether a datastore supports what the gateway relies on')
  addDatastoreAction<Options>(command, context, ({ config, backend }, options) => runUntilInterrupted(async signal => {
    const anonymous = createAnonymousBackend(config, backend)
    const examined = await runChecks({
      backend,
      anonymous,
      tenantSystem: config.tenantSystem,
      newId: randomUUID,
      signal
    }).finally(() => anonymous.close())
    const capabilities = { ...examined, datastore: backend.name }
    for (const text of options.json ? [formatDoctorJson(capabilities)] : formatDoctorText(capabilities)) {
      context.out(text)
    }
    if (signal.aborted) throw new Interrupted()
    if (isBlocked(examined) || examined.left.length > 0) throw new ExitWithFindings()
  }))
    .option('--json', 'print the report as one line of JSON')
    .addHelpText('after', help)
}

/** A client of the same server without credentials. */
function createAnonymousBackend ({ datastores }: Config, { name, baseUrl }: Backend): HttpBackend {
  const caFile = Object.hasOwn(datastores, name) ? datastores[name]!.caFile : undefined
  return new HttpBackend({ name, baseUrl, ...caFile !== undefined && { ca: readFileSync(caFile, 'utf8') } })
}

/** An examination with the name of its datastore. */
interface NamedExamination extends Examination {
  readonly datastore: string
}

const states: readonly State[] = ['blocks', 'unsafe', 'degraded', 'unclear', 'works']

/** Whether the gateway cannot do its work on this server. */
const isBlocked = ({ findings }: Pick<Examination, 'findings'>): boolean =>
  findings.some(({ state }) => state === 'blocks')

/** The report for programs: one object on one line. */
function formatDoctorJson ({ datastore, capabilities, findings, stored, left }: NamedExamination): string {
  const { software, fhirVersion } = capabilities ?? {}
  return `${JSON.stringify({ datastore, software, fhirVersion, blocks: isBlocked({ findings }), counts: countByState(findings), findings, records: { stored, left } })}\n`
}

function countByState (findings: readonly Finding[]): Partial<Record<State, number>> {
  return Object.fromEntries(states.map(state => [state, findings.filter(finding => finding.state === state).length]))
}

/** The report for people: first the passed checks, then the others with their remedies. */
function * formatDoctorText ({ datastore, capabilities, findings, stored, left }: NamedExamination): Generator<string> {
  const { software, fhirVersion } = capabilities ?? {}
  yield `${[`Datastore ${datastore}`, software, fhirVersion && `FHIR ${fhirVersion}`].filter(part => part !== undefined).join(', ')}\n\n`
  for (const finding of [...findings].sort((one, other) => states.indexOf(other.state) - states.indexOf(one.state))) {
    yield * formatFinding(finding)
  }
  yield `\n${formatSummary(findings)}\n`
  if (stored > 0 && left.length === 0) yield `The ${stored} test records were deleted.\n`
  if (left.length > 0) yield `${formatLeftovers(left)}\n`
}

function * formatFinding ({ state, name, title, detail, gateway, change }: Finding): Generator<string> {
  yield `${state.padEnd(width)}  ${title}  [${name}]\n`
  const indent = ' '.repeat(width + 2)
  if (detail !== undefined) yield `${indent}seen:    ${detail}\n`
  if (gateway !== undefined) yield `${indent}gateway: ${gateway}\n`
  if (change !== undefined) yield `${indent}change:  ${change}\n`
}

const width = Math.max(...states.map(({ length }) => length))

const labels: Readonly<Record<State, string>> = {
  works: 'work',
  degraded: 'degraded',
  unsafe: 'unsafe',
  blocks: 'blocking',
  unclear: 'unclear'
}

function formatSummary (findings: readonly Finding[]): string {
  const counts = countByState(findings)
  const parts = [...states]
    .reverse()
    .filter(state => counts[state]! > 0)
    .map(state => `${counts[state]} ${labels[state]}`)
  const verdict = isBlocked({ findings })
    ? 'The gateway cannot work with this server.'
    : 'The gateway can work with this server.'
  return `${verdict} ${parts.join(', ')}.`
}
