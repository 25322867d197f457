import type { Mapping } from './kit/mapping.js'
import { consents } from './resources/consents.js'
import { encounters } from './resources/encounters.js'
import { medications } from './resources/medications.js'
import { observations } from './resources/observations.js'
import { patients } from './resources/patients.js'
import { practitioners } from './resources/practitioners.js'

/** Every resource group that the gateway offers, in the order of the documentation. */
export const mappings: readonly Mapping[] = [patients, practitioners, encounters, observations, medications, consents]
