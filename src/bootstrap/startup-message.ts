import type { Config } from '../config/schema.js'
import type { ControlStore } from '../control-plane/store/store.js'

/** The entities that the first start of a control plane creates, with their secrets, which are shown only once. */
interface FirstRun {
  /** The first operator of the dashboard, where people sign in with passwords stored here. */
  readonly operator?: { readonly email: string, readonly password: string }
  /** An organization to try things out with. */
  readonly demo?: { readonly tenantId: string, readonly testKey: string, readonly liveKey: string }
}

const by = 'first start'

/**
 * Makes an operator where there is none, and the organization `demo` with its keys where there is no organization, so
 * that a browser and the first request need no other command.
 */
export async function initializeControlPlane (control: ControlStore, { plans, dashboard }: Config): Promise<FirstRun> {
  const demo = await createDemo(control, plans)
  // Last: if a start is interrupted before it shows anything, the next one still creates an operator, who can create
  // keys.
  const operator = dashboard.localAccounts
    ? await control.members.createFirstOperator('operator@clinigate.local', by)
    : undefined
  return { operator, demo }
}

async function createDemo (control: ControlStore, plans: Config['plans']): Promise<FirstRun['demo']> {
  if ((await control.organizations.list()).length > 0) return undefined
  const plan = Object.hasOwn(plans, 'pro') ? 'pro' : Object.keys(plans)[0]!
  const { tenantId } = await control.organizations.create({ name: 'demo', plan }, by)
  const { secret: testKey } = await control.keys.create({ tenantId, mode: 'test', name: 'demo test key' }, by)
  const { secret: liveKey } = await control.keys.create({ tenantId, mode: 'live', name: 'demo live key' }, by)
  return { tenantId, testKey, liveKey }
}

/** The results of a start. */
interface Start extends FirstRun {
  readonly version: string
  readonly address: string
  readonly sandboxes: readonly string[]
}

/**
 * The message of a start for the person at the terminal. Secrets are shown here and nowhere else, so this never goes to
 * the log.
 */
export function formatStartupMessage (
  { version, address, sandboxes, operator, demo }: Start,
  { dataDirectory, role, control, processes }: Config
): string {
  return [
    `clinigate ${version}${kinds[role]} listens on ${address}${processes > 1 ? ` with ${processes} processes` : ''}`,
    control.url === undefined
      ? `The dashboard is at ${address}/dashboard`
      : `It gets its keys from the control plane at ${control.url}. /health shows the age of its key copy.`,
    ...formatSandboxes(sandboxes, dataDirectory),
    ...formatOperator(operator),
    ...formatDemo(demo),
    ''
  ].join('\n')
}

const kinds: Readonly<Record<Config['role'], string>> = {
  all: '', gateway: ' (gateway)', control: ' (control plane)', worker: ' (worker)'
}

function formatSandboxes (names: readonly string[], dataDirectory: string): string[] {
  if (names.length === 0) return []
  return [
    '',
    `The datastore${names.length === 1 ? '' : 's'} ${names.join(' and ')}: an embedded sandbox in ${dataDirectory}, for evaluation only, never for real records.`,
    'To use your own FHIR servers, set FHIR_TEST_URL and FHIR_LIVE_URL.'
  ]
}

function formatOperator (operator: FirstRun['operator']): string[] {
  if (!operator) return []
  return [
    '',
    'First start: created an operator for the dashboard. The password is shown only once and must be changed at the first sign-in:',
    `  email     ${operator.email}`,
    `  password  ${operator.password}`
  ]
}

function formatDemo (demo: FirstRun['demo']): string[] {
  if (!demo) return []
  return [
    '',
    `First start: created the organization demo (${demo.tenantId}). Its keys are shown only once:`,
    `  test key  ${demo.testKey}`,
    `  live key  ${demo.liveKey}`
  ]
}
