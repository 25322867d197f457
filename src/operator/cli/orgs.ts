import { Option, type Command } from 'commander'
import { organizationOperations } from '../../control-plane/admin-api/operations.js'
import type { Control } from './context.js'

interface OrganizationOptions {
  readonly name: string
  readonly plan: string
  readonly overage?: 'on' | 'off'
  readonly datastore?: string
}

/** Adds the commands on organizations. */
export function addOrgs (program: Command, { print }: Control): void {
  const orgs = program.command('orgs').description('manage organizations, each of which is a separate tenant')
  orgs
    .command('create')
    .description('create an organization and print its tenant id')
    .requiredOption('--name <name>', 'display name')
    .requiredOption('--plan <plan>', 'a plan from the configuration, such as sandbox or pro')
    .addOption(createOverageOption('; on by default if the plan has it'))
    .option(
      '--datastore <name>',
      "its own datastore for live data, as named in the gateways' configuration; only on the plan enterprise"
    )
    .action(({ name, plan, overage, datastore }: OrganizationOptions) =>
      print(async call => {
        const { tenantId } = await call(organizationOperations.createOrganization, {}, {
          name,
          plan,
          overage: overage && overage === 'on',
          datastore
        })
        return { tenantId }
      })
    )
  orgs
    .command('update')
    .description('change the given settings and print the organization')
    .argument('<tenantId>')
    .option('--name <name>', 'new display name')
    .option('--plan <plan>', 'new plan')
    .addOption(createOverageOption())
    .option('--datastore <name>', 'its own datastore; an empty name removes it')
    .action((tenantId: string, { name, plan, overage, datastore }: Partial<OrganizationOptions>) =>
      print(call =>
        call(organizationOperations.changeOrganization, { tenantId }, {
          name,
          plan,
          overage: overage && overage === 'on',
          datastore: datastore === '' ? null : datastore
        })
      )
    )
  orgs.command('list').description('print all organizations')
    .action(() => print(call => call(organizationOperations.listOrganizations, {})))
}

function createOverageOption (unlessSpecified = ''): Option {
  return new Option(
    '--overage <on|off>',
    `whether live requests beyond the monthly quota are served and billed${unlessSpecified}`
  ).choices(['on', 'off'])
}
