import type { Mapping } from './kit/mapping.js'
import { accounts } from './resources/accounts.js'
import { activityDefinitions } from './resources/activity-definitions.js'
import { allergies } from './resources/allergies.js'
import { carePlans } from './resources/care-plans.js'
import { chargeItems } from './resources/charge-items.js'
import { claimResponses } from './resources/claim-responses.js'
import { claims } from './resources/claims.js'
import { conditions } from './resources/conditions.js'
import { consents } from './resources/consents.js'
import { coverages } from './resources/coverages.js'
import { eligibilityRequests } from './resources/eligibility-requests.js'
import { eligibilityResponses } from './resources/eligibility-responses.js'
import { encounters } from './resources/encounters.js'
import { eobs } from './resources/eobs.js'
import { familyHistory } from './resources/family-history.js'
import { healthcareServices } from './resources/healthcare-services.js'
import { locations } from './resources/locations.js'
import { medications } from './resources/medications.js'
import { nutritionOrders } from './resources/nutrition-orders.js'
import { observations } from './resources/observations.js'
import { organizations } from './resources/organizations.js'
import { patients } from './resources/patients.js'
import { persons } from './resources/persons.js'
import { planDefinitions } from './resources/plan-definitions.js'
import { practitioners } from './resources/practitioners.js'
import { riskAssessments } from './resources/risk-assessments.js'
import { schedules } from './resources/schedules.js'
import { serviceRequests } from './resources/service-requests.js'
import { slots } from './resources/slots.js'
import { tasks } from './resources/tasks.js'

/** Every resource group that the gateway offers, in the order of the documentation. */
export const mappings: readonly Mapping[] = [
  patients, practitioners, encounters, observations, medications, consents, tasks, slots, organizations,
  accounts, healthcareServices, serviceRequests, locations, schedules, persons, familyHistory, carePlans,
  claims, claimResponses, allergies, conditions, chargeItems, coverages, eligibilityRequests,
  eligibilityResponses, eobs, activityDefinitions, nutritionOrders, planDefinitions, riskAssessments
]
