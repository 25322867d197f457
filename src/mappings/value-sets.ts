/** R4 value sets that several resources share: http://hl7.org/fhir/R4/terminologies-valuesets.html */
import { wordsOf } from './datatypes/concept.js'

export const administrativeGender = ['male', 'female', 'other', 'unknown'] as const

/** Observation categories that clients send as bare words. */
export const observationCategories = wordsOf('http://terminology.hl7.org/CodeSystem/observation-category', {
  'vital-signs': 'Vital Signs',
  laboratory: 'Laboratory',
  'social-history': 'Social History',
  exam: 'Exam',
  survey: 'Survey',
  imaging: 'Imaging',
  procedure: 'Procedure',
  therapy: 'Therapy',
  activity: 'Activity'
})

/** Interpretations of a result that clients send as bare letters. */
export const interpretations = wordsOf('http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation', {
  H: 'High', L: 'Low', N: 'Normal', A: 'Abnormal', HH: 'Critical high', LL: 'Critical low'
})

/** Encounter classes of v3-ActCode, with the kind of visit that each means. */
export const encounterClasses = {
  AMB: 'ambulatory',
  IMP: 'inpatient encounter',
  EMER: 'emergency',
  VR: 'virtual',
  HH: 'home health',
  OBSENC: 'observation encounter',
  FLD: 'field',
  PRENC: 'pre-admission',
  ACUTE: 'inpatient acute',
  NONAC: 'inpatient non-acute',
  SS: 'short stay'
} as const

/** Consent scopes of R4, by their codes. */
export const consentScopes = {
  'patient-privacy': 'Privacy Consent',
  research: 'Research',
  treatment: 'Treatment',
  adr: 'Advanced Care Directive'
} as const

export const daysOfWeek = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** The life of a request: http://hl7.org/fhir/R4/valueset-request-status.html */
export const requestStatus = ['draft', 'active', 'on-hold', 'revoked', 'completed', 'entered-in-error', 'unknown'] as const

/** How binding a request is: http://hl7.org/fhir/R4/valueset-request-intent.html */
export const requestIntent = [
  'proposal', 'plan', 'directive', 'order', 'original-order', 'reflex-order', 'filler-order', 'instance-order', 'option'
] as const

export const requestPriority = ['routine', 'urgent', 'asap', 'stat'] as const

/** The life of what is exchanged with insurers: http://hl7.org/fhir/R4/valueset-fm-status.html */
export const financialStatus = ['active', 'cancelled', 'draft', 'entered-in-error'] as const

export const claimUse = ['claim', 'preauthorization', 'predetermination'] as const

/** How far the processing of a claim or a payment came: http://hl7.org/fhir/R4/valueset-remittance-outcome.html */
export const remittanceOutcome = ['queued', 'complete', 'error', 'partial'] as const

export const eligibilityPurpose = ['auth-requirements', 'benefits', 'discovery', 'validation'] as const

/** The life of a definition: http://hl7.org/fhir/R4/valueset-publication-status.html */
export const publicationStatus = ['draft', 'active', 'retired', 'unknown'] as const

export const allergyClinicalStatus = { active: 'Active', inactive: 'Inactive', resolved: 'Resolved' } as const

export const allergyVerificationStatus = {
  unconfirmed: 'Unconfirmed', confirmed: 'Confirmed', refuted: 'Refuted', 'entered-in-error': 'Entered in Error'
} as const

export const conditionClinicalStatus = {
  active: 'Active', recurrence: 'Recurrence', relapse: 'Relapse', inactive: 'Inactive', remission: 'Remission', resolved: 'Resolved'
} as const

export const conditionVerificationStatus = {
  unconfirmed: 'Unconfirmed',
  provisional: 'Provisional',
  differential: 'Differential',
  confirmed: 'Confirmed',
  refuted: 'Refuted',
  'entered-in-error': 'Entered in Error'
} as const

export const conditionCategories = { 'problem-list-item': 'Problem List Item', 'encounter-diagnosis': 'Encounter Diagnosis' } as const

/** The types of resources that are requests: http://hl7.org/fhir/R4/valueset-request-resource-types.html */
export const requestTypes = [
  'Appointment', 'AppointmentResponse', 'CarePlan', 'Claim', 'CommunicationRequest', 'Contract', 'DeviceRequest', 'EnrollmentRequest',
  'ImmunizationRecommendation', 'MedicationRequest', 'NutritionOrder', 'ServiceRequest', 'SupplyRequest', 'Task', 'VisionPrescription'
] as const

/** How far an observation or an assessment is: http://hl7.org/fhir/R4/valueset-observation-status.html */
export const observationStatus = ['registered', 'preliminary', 'final', 'amended', 'corrected', 'cancelled', 'entered-in-error', 'unknown'] as const

export const unitsOfTime = ['s', 'min', 'h', 'd', 'wk', 'mo', 'a'] as const

/** Whether somebody comes to an appointment: http://hl7.org/fhir/R4/valueset-participationstatus.html */
export const participationStatus = ['accepted', 'declined', 'tentative', 'needs-action'] as const

export const compositionStatus = ['preliminary', 'final', 'amended', 'entered-in-error'] as const

/** What one document does to another: http://hl7.org/fhir/R4/valueset-document-relationship-type.html */
export const documentRelations = ['replaces', 'transforms', 'signs', 'appends'] as const
