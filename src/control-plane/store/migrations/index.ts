import type { MigrationProvider } from 'kysely'
import * as organizationsAndKeys from './001-organizations-and-keys.js'
import * as peopleAndMachines from './002-people-and-machines.js'
import * as usage from './003-usage.js'
import * as jobs from './004-jobs.js'
import * as statesThatGatewaysTake from './005-states-that-gateways-take.js'

/** All migrations of the control database in the order of their names. A released migration never changes. */
export const migrations: MigrationProvider = {
  getMigrations: async () => ({
    '001-organizations-and-keys': organizationsAndKeys,
    '002-people-and-machines': peopleAndMachines,
    '003-usage': usage,
    '004-jobs': jobs,
    '005-states-that-gateways-take': statesThatGatewaysTake
  })
}
