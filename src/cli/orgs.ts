import { Option, type Command } from 'commander'
import type { Control } from './surroundings.js'

interface OrganizationOptions { readonly name: string, readonly plan: string, readonly overage?: 'on' | 'off', readonly datastore?: string }

/** Adds the commands on organizations. */
export function addOrgs (program: Command, { print }: Control): void {
  const orgs = program.command('orgs').description('organizations, each a tenant of its own')
  orgs.command('create').description('make an organization and print its tenant id')
    .requiredOption('--name <name>', 'its name, for people')
    .requiredOption('--plan <plan>', 'a plan of the configuration, such as sandbox or pro')
    .addOption(overage('; on where the plan has it'))
    .option('--datastore <name>', 'a datastore of its own for live data, on the plan enterprise, as the gateways are configured')
    .action(({ name, plan, overage, datastore }: OrganizationOptions) => print(async desk => {
      const { tenantId } = await desk.createOrganization({ name, plan, overage: overage && overage === 'on', datastore })
      return { tenantId }
    }))
  orgs.command('update').description('change what is named and print the organization')
    .argument('<tenantId>')
    .option('--name <name>', 'its new name')
    .option('--plan <plan>', 'its new plan')
    .addOption(overage())
    .option('--datastore <name>', 'the datastore of its own; an empty name takes it back')
    .action((tenantId: string, { name, plan, overage, datastore }: Partial<OrganizationOptions>) => print(desk =>
      desk.changeOrganization(tenantId, { name, plan, overage: overage && overage === 'on', datastore: datastore === '' ? null : datastore })))
  orgs.command('list').description('print all organizations')
    .action(() => print(desk => desk.listOrganizations()))
}

function overage (unlessSaid = ''): Option {
  return new Option('--overage <on|off>', `whether live requests past the month's allowance are served and billed${unlessSaid}`).choices(['on', 'off'])
}
