import { Option, type Command } from 'commander'
import { recordOperations } from '../../control-plane/admin-api/operations.js'
import { operators, organizationPeople, peopleOperations } from '../../control-plane/admin-api/people-operations.js'
import { belongsToOrganization } from '../../control-plane/store/members.js'
import { tokenRoles, type TokenRole } from '../../control-plane/store/token-store.js'
import type { Control } from './context.js'
import { parseTime } from './times.js'

interface TokenOptions {
  readonly role: TokenRole
  readonly name: string
  readonly tenant?: string
  readonly expires?: Date
}

/** Adds the commands on tokens, and on the gateways that follow the control plane by one. */
export function addTokens (program: Command, { print }: Control): void {
  const tokens = program
    .command('tokens')
    .description('manage the tokens of programs that manage the control plane, and of gateways that connect to it')
  tokens
    .command('create')
    .description('create a token and print its secret, which is shown only once')
    .addOption(
      new Option(
        '--role <role>',
        'role of the token; gateway is for what gateways send and receive: keys, usage and bulk jobs'
      )
        .choices(tokenRoles)
        .makeOptionMandatory()
    )
    .requiredOption('--name <name>', 'name of the token')
    .option(
      '--tenant <tenantId>',
      "the organization of an admin's or viewer's token, which needs one; leave it out for the other roles"
    )
    .option('--expires <time>', 'ISO 8601, such as 2030-01-31T00:00:00Z (default: never)', parseTime)
    .action(({ role, name, tenant, expires }: TokenOptions, command: Command) => {
      requireTenantThatFits({ role, tenant }, command)
      return print(async call => {
        const { ids, createToken } = getTokenOperations(tenant)
        const { tokenId, secret } = await call(createToken, ids, { role, name, expiresAt: expires?.toISOString() })
        return { tokenId, secret }
      })
    })
  tokens.command('list').description('print tokens, without secrets')
    .option('--tenant <tenantId>', 'only those of an organization (default: those of operators and gateways)')
    .action(({ tenant }: { tenant?: string }) => print(call => {
      const { ids, listTokens } = getTokenOperations(tenant)
      return call(listTokens, ids)
    }))
  tokens.command('revoke').description('revoke a token immediately and permanently')
    .argument('<tokenId>')
    .action((tokenId: string) => print(call => call(peopleOperations.revokeToken, { tokenId })))
  program.command('gateways').description('print the gateways with their last reported state')
    .action(() => print(call => call(recordOperations.listGateways, {})))
}

/** The operations on the tokens of an organization, or of those that belong to none. */
function getTokenOperations (tenantId: string | undefined) {
  const ids: Readonly<Record<string, string>> = tenantId === undefined ? {} : { tenantId }
  return { ids, ...tenantId === undefined ? operators : organizationPeople }
}

/** Reports a missing or superfluous option by the option's name, which the control plane does not know. */
function requireTenantThatFits ({ role, tenant }: Pick<TokenOptions, 'role' | 'tenant'>, command: Command): void {
  const belongs = belongsToOrganization(role)
  if (belongs === (tenant !== undefined)) return
  const remedy = belongs
    ? 'belongs to an organization; name it with --tenant <tenantId>. clinigate orgs list prints all.'
    : 'belongs to no organization; leave out --tenant.'
  command.error(`error: a token with the role ${role} ${remedy}`, { exitCode: 2 })
}
