import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Mode, Scope } from '../keys/caller.js'
import type { Control } from './surroundings.js'

interface KeyOptions {
  readonly tenant: string
  readonly mode: Mode
  readonly name?: string
  readonly scopes?: Scope[]
  readonly expires?: Date
}

/** Adds the commands on keys. */
export function addKeys (program: Command, control: Control): void {
  const keys = program.command('keys').description('secret keys of organizations')
  addCreate(keys, control)
  addRoll(keys, control)
  keys.command('list').description('print the keys of an organization, without secrets')
    .requiredOption('--tenant <tenantId>', 'whose keys')
    .action(({ tenant }: { tenant: string }) => control.print(store => store.listKeys(tenant)))
  keys.command('revoke').description('make a key invalid at once and for ever')
    .argument('<keyId>')
    .action((keyId: string) => control.print(store => store.revokeKey(keyId, control.by)))
  keys.command('expire').description('set the moment from which a key is no longer valid')
    .argument('<keyId>')
    .requiredOption('--at <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z', parseTime)
    .action((keyId: string, { at }: { at: Date }) => control.print(store => store.expireKey(keyId, at, control.by)))
}

function addCreate (keys: Command, { print, by }: Control): void {
  keys.command('create').description('make a key and print its secret, which is never shown again')
    .requiredOption('--tenant <tenantId>', 'whose key')
    .addOption(new Option('--mode <mode>', 'test for development, live for patient data').choices(['test', 'live']).makeOptionMandatory())
    .option('--scopes <scopes>', 'read, write, both with a comma between, or * (default: *)', text => text.split(','))
    .option('--expires <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z (default: never)', parseTime)
    .option('--name <name>', 'what it is for')
    .action(({ tenant: tenantId, mode, name = `${mode} key`, scopes, expires: expiresAt }: KeyOptions) => print(store =>
      store.createKey({ tenantId, mode, name, scopes, expiresAt }, by)))
}

function addRoll (keys: Command, { print, by }: Control): void {
  keys.command('roll').description('make a key that follows another one and print its secret')
    .argument('<keyId>')
    .option('--overlap <time>', 'how long the old key goes on: 0, or a number with s, m, h or d', parseDuration, parseDuration('1h'))
    .action((keyId: string, { overlap }: { overlap: number }) => print(store => store.rollKey(keyId, overlap, by)))
}

const isoTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

function parseTime (text: string): Date {
  const day = new Date(isoTime.exec(text)?.[1] ?? NaN)
  const time = new Date(text)
  // The engine reads 30 February as 2 March.
  const isDay = !Number.isNaN(day.getTime()) && text.startsWith(day.toISOString().slice(0, 10))
  if (!isDay || Number.isNaN(time.getTime())) throw new InvalidArgumentError('Write a time as 2030-01-31T00:00:00Z.')
  return time
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseDuration (text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (text === '0') return 0
  if (amount === undefined || unit === undefined) throw new InvalidArgumentError('Write a time as 30m, 1h or 7d, or 0 for none.')
  return Number(amount) * (unitMs[unit] ?? NaN)
}
