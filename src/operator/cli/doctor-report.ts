import type { Examination, Finding, State } from '../server-check/examine.js'
import { leftoverText } from '../server-check/examine.js'

/** An examination with the name of its datastore. */
interface Examined extends Examination {
  readonly datastore: string
}

const states: readonly State[] = ['blocks', 'unsafe', 'degraded', 'unclear', 'works']

/** Whether the gateway cannot do its work on this server. */
export const isBlocked = ({ findings }: Pick<Examination, 'findings'>): boolean =>
  findings.some(({ state }) => state === 'blocks')

/** The report for programs: one object on one line. */
export function doctorJson ({ datastore, capabilities, findings, stored, left }: Examined): string {
  const { software, fhirVersion } = capabilities ?? {}
  return `${JSON.stringify({ datastore, software, fhirVersion, blocks: isBlocked({ findings }), counts: countsOf(findings), findings, records: { stored, left } })}\n`
}

function countsOf (findings: readonly Finding[]): Partial<Record<State, number>> {
  return Object.fromEntries(states.map(state => [state, findings.filter(finding => finding.state === state).length]))
}

/** The report for people: first the passed checks, then the others with their remedies. */
export function * doctorText ({ datastore, capabilities, findings, stored, left }: Examined): Generator<string> {
  const { software, fhirVersion } = capabilities ?? {}
  yield `${[`Datastore ${datastore}`, software, fhirVersion && `FHIR ${fhirVersion}`].filter(part => part !== undefined).join(', ')}\n\n`
  for (const finding of [...findings].sort((one, other) => states.indexOf(other.state) - states.indexOf(one.state))) {
    yield * lines(finding)
  }
  yield `\n${summary(findings)}\n`
  if (stored > 0 && left.length === 0) yield `The ${stored} test records were deleted.\n`
  if (left.length > 0) yield `${leftoverText(left)}\n`
}

function * lines ({ state, name, title, detail, gateway, change }: Finding): Generator<string> {
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

function summary (findings: readonly Finding[]): string {
  const counts = countsOf(findings)
  const parts = [...states]
    .reverse()
    .filter(state => counts[state]! > 0)
    .map(state => `${counts[state]} ${labels[state]}`)
  const verdict = isBlocked({ findings })
    ? 'The gateway cannot work with this server.'
    : 'The gateway can work with this server.'
  return `${verdict} ${parts.join(', ')}.`
}
