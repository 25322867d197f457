import { Option, type Command } from 'commander'
import type { Scope } from '../keys/caller.js'
import { modes, type Mode } from '../mode.js'
import type { Control } from './surroundings.js'
import { parseDuration, parseTime } from './times.js'

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
    .action(({ tenant }: { tenant: string }) => control.print(desk => desk.listKeys(tenant)))
  keys.command('revoke').description('make a key invalid at once and for ever')
    .argument('<keyId>')
    .action((keyId: string) => control.print(desk => desk.revokeKey(keyId)))
  keys.command('expire').description('set the moment from which a key is no longer valid')
    .argument('<keyId>')
    .requiredOption('--at <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z', parseTime)
    .action((keyId: string, { at }: { at: Date }) => control.print(desk => desk.expireKey(keyId, at)))
}

function addCreate (keys: Command, { print }: Control): void {
  keys.command('create').description('make a key and print its secret, which is never shown again')
    .requiredOption('--tenant <tenantId>', 'whose key')
    .addOption(new Option('--mode <mode>', 'test for development, live for patient data').choices(modes).makeOptionMandatory())
    .option('--scopes <scopes>', 'read, write, both with a comma between, or * (default: *)', text => text.split(','))
    .option('--expires <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z (default: never)', parseTime)
    .option('--name <name>', 'what it is for')
    .action(({ tenant: tenantId, mode, name = `${mode} key`, scopes, expires: expiresAt }: KeyOptions) => print(desk =>
      desk.createKey({ tenantId, mode, name, scopes, expiresAt })))
}

function addRoll (keys: Command, { print }: Control): void {
  keys.command('roll').description('make a key that follows another one and print its secret')
    .argument('<keyId>')
    .option('--overlap <time>', 'how long the old key goes on: 0, or a number with s, m, h or d (default: 1h)', parseDuration)
    .action((keyId: string, { overlap = parseDuration('1h') }: { readonly overlap?: number }) => print(desk => desk.rollKey(keyId, overlap)))
}
