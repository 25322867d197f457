import type { Mapping } from './kit/mapping.js'
import { accounts } from './resources/accounts.js'
import { consents } from './resources/consents.js'
import { encounters } from './resources/encounters.js'
import { healthcareServices } from './resources/healthcare-services.js'
import { locations } from './resources/locations.js'
import { medications } from './resources/medications.js'
import { observations } from './resources/observations.js'
import { organizations } from './resources/organizations.js'
import { patients } from './resources/patients.js'
import { persons } from './resources/persons.js'
import { practitioners } from './resources/practitioners.js'
import { schedules } from './resources/schedules.js'
import { serviceRequests } from './resources/service-requests.js'
import { slots } from './resources/slots.js'
import { tasks } from './resources/tasks.js'

/** Every resource group that the gateway offers, in the order of the documentation. */
export const mappings: readonly Mapping[] = [
  patients, practitioners, encounters, observations, medications, consents, tasks, slots, organizations,
  accounts, healthcareServices, serviceRequests, locations, schedules, persons
]
