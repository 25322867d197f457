import { Option, type Command } from 'commander'
import type { Scope } from '../../keys/caller.js'
import { keyOperations } from '../../control-plane/admin-api/key-operations.js'
import { modes, type Mode } from '../../config/mode.js'
import type { Control } from './context.js'
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
  const keys = program.command('keys').description('manage the secret keys of organizations')
  addCreate(keys, control)
  addRoll(keys, control)
  keys.command('list').description('print the keys of an organization, without secrets')
    .requiredOption('--tenant <tenantId>', 'the organization')
    .action(({ tenant }: { tenant: string }) =>
      control.print(call => call(keyOperations.listKeys, { tenantId: tenant }))
    )
  keys.command('revoke').description('revoke a key immediately and permanently')
    .argument('<keyId>')
    .action((keyId: string) => control.print(call => call(keyOperations.revokeKey, { keyId })))
  keys
    .command('rename')
    .description('change the name of a key')
    .argument('<keyId>')
    .requiredOption('--name <name>', 'name of the key')
    .action((keyId: string, { name }: { name: string }) =>
      control.print(call => call(keyOperations.changeKey, { keyId }, { name }))
    )
  keys
    .command('expire')
    .description('set the time when a key expires')
    .argument('<keyId>')
    .requiredOption('--at <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z', parseTime)
    .action((keyId: string, { at }: { at: Date }) =>
      control.print(call => call(keyOperations.changeKey, { keyId }, { expiresAt: at.toISOString() }))
    )
}

function addCreate (keys: Command, { print }: Control): void {
  keys
    .command('create')
    .description('create a key and print its secret, which is shown only once')
    .requiredOption('--tenant <tenantId>', 'the organization')
    .addOption(
      new Option('--mode <mode>', 'test for development, live for patient data').choices(modes).makeOptionMandatory()
    )
    .option(
      '--scopes <scopes>',
      'read, write, or * (default: *); or of resources, as in patients:read,observations:*,fhir/Patient:read',
      text => text.split(',')
    )
    .option('--expires <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z (default: never)', parseTime)
    .option('--name <name>', 'name of the key')
    .action(({ tenant: tenantId, mode, name = `${mode} key`, scopes, expires }: KeyOptions) =>
      print(call =>
        call(keyOperations.createKey, { tenantId }, { mode, name, scopes, expiresAt: expires?.toISOString() })
      )
    )
}

function addRoll (keys: Command, { print }: Control): void {
  keys
    .command('roll')
    .description('create a successor of a key and print its secret')
    .argument('<keyId>')
    .option(
      '--overlap <time>',
      'how long the old key stays valid: 0, or a number with s, m, h or d (default: 1h)',
      parseDuration
    )
    .action((keyId: string, { overlap = parseDuration('1h') }: { readonly overlap?: number }) =>
      print(call => call(keyOperations.rollKey, { keyId }, { overlapSeconds: overlap / 1_000 }))
    )
}
