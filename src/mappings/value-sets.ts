/** R4 value sets that several resources share: http://hl7.org/fhir/R4/terminologies-valuesets.html */
import { toKnownCodes } from './datatypes/concept.js'

export const administrativeGender = ['male', 'female', 'other', 'unknown'] as const

/** Observation categories that clients send as bare words. */
export const observationCategories = toKnownCodes('http://terminology.hl7.org/CodeSystem/observation-category', {
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
export const interpretations = toKnownCodes('http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation', {
  H: 'High',
  L: 'Low',
  N: 'Normal',
  A: 'Abnormal',
  HH: 'Critical high',
  LL: 'Critical low'
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
export const requestStatus = ['draft', 'active', 'on-hold', 'revoked', 'completed', 'entered-in-error',
  'unknown'] as const

/** How binding a request is: http://hl7.org/fhir/R4/valueset-request-intent.html */
export const requestIntent = ['proposal', 'plan', 'directive', 'order', 'original-order', 'reflex-order',
  'filler-order', 'instance-order', 'option'] as const

export const requestPriority = ['routine', 'urgent', 'asap', 'stat'] as const

/** The status of what insurers and providers exchange: http://hl7.org/fhir/R4/valueset-fm-status.html */
export const financialStatus = ['active', 'cancelled', 'draft', 'entered-in-error'] as const

export const claimUse = ['claim', 'preauthorization', 'predetermination'] as const

/** How far the processing of a claim or a payment came: http://hl7.org/fhir/R4/valueset-remittance-outcome.html */
export const remittanceOutcome = ['queued', 'complete', 'error', 'partial'] as const

export const eligibilityPurpose = ['auth-requirements', 'benefits', 'discovery', 'validation'] as const

/** The life of a definition: http://hl7.org/fhir/R4/valueset-publication-status.html */
export const publicationStatus = ['draft', 'active', 'retired', 'unknown'] as const

export const allergyClinicalStatus = { active: 'Active', inactive: 'Inactive', resolved: 'Resolved' } as const

export const allergyVerificationStatus = {
  unconfirmed: 'Unconfirmed',
  confirmed: 'Confirmed',
  refuted: 'Refuted',
  'entered-in-error': 'Entered in Error'
} as const

export const conditionClinicalStatus = {
  active: 'Active',
  recurrence: 'Recurrence',
  relapse: 'Relapse',
  inactive: 'Inactive',
  remission: 'Remission',
  resolved: 'Resolved'
} as const

export const conditionVerificationStatus = {
  unconfirmed: 'Unconfirmed',
  provisional: 'Provisional',
  differential: 'Differential',
  confirmed: 'Confirmed',
  refuted: 'Refuted',
  'entered-in-error': 'Entered in Error'
} as const

export const conditionCategories = {
  'problem-list-item': 'Problem List Item',
  'encounter-diagnosis': 'Encounter Diagnosis'
} as const

/** The types of resources that are requests: http://hl7.org/fhir/R4/valueset-request-resource-types.html */
export const requestTypes = ['Appointment', 'AppointmentResponse', 'CarePlan', 'Claim', 'CommunicationRequest',
  'Contract', 'DeviceRequest', 'EnrollmentRequest', 'ImmunizationRecommendation', 'MedicationRequest', 'NutritionOrder',
  'ServiceRequest', 'SupplyRequest', 'Task', 'VisionPrescription'] as const

/** How far an observation or an assessment is: http://hl7.org/fhir/R4/valueset-observation-status.html */
export const observationStatus = ['registered', 'preliminary', 'final', 'amended', 'corrected', 'cancelled',
  'entered-in-error', 'unknown'] as const

export const unitsOfTime = ['s', 'min', 'h', 'd', 'wk', 'mo', 'a'] as const

/** Whether a participant attends an appointment: http://hl7.org/fhir/R4/valueset-participationstatus.html */
export const participationStatus = ['accepted', 'declined', 'tentative', 'needs-action'] as const

/** The life of something done: http://hl7.org/fhir/R4/valueset-event-status.html */
export const eventStatus = ['preparation', 'in-progress', 'not-done', 'on-hold', 'stopped', 'completed',
  'entered-in-error', 'unknown'] as const

export const measurePopulations = toKnownCodes('http://terminology.hl7.org/CodeSystem/measure-population', {
  'initial-population': 'Initial Population',
  numerator: 'Numerator',
  'numerator-exclusion': 'Numerator Exclusion',
  denominator: 'Denominator',
  'denominator-exclusion': 'Denominator Exclusion',
  'denominator-exception': 'Denominator Exception',
  'measure-population': 'Measure Population',
  'measure-population-exclusion': 'Measure Population Exclusion',
  'measure-observation': 'Measure Observation'
})

/** The code system of DICOM's controlled terminology. */
export const dicomCodes = 'http://dicom.nema.org/resources/ontology/DCM'

/** Kinds of audited events that clients send as bare words; a login is the authentication of a user in DICOM. */
export const auditTypes = {
  rest: {
    system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
    code: 'rest',
    display: 'RESTful Operation'
  },
  login: { system: dicomCodes, code: '110114', display: 'User Authentication' },
  logout: { system: dicomCodes, code: '110114', display: 'User Authentication' },
  export: { system: dicomCodes, code: '110106', display: 'Export' },
  import: { system: dicomCodes, code: '110107', display: 'Import' },
  query: { system: dicomCodes, code: '110112', display: 'Query' }
}

export const auditSubtypes = {
  ...toKnownCodes('http://hl7.org/fhir/restful-interaction', {
    read: 'read',
    vread: 'vread',
    update: 'update',
    patch: 'patch',
    delete: 'delete',
    history: 'history',
    create: 'create',
    search: 'search',
    capabilities: 'capabilities',
    transaction: 'transaction',
    batch: 'batch',
    operation: 'operation'
  }),
  login: { system: dicomCodes, code: '110122', display: 'Login' },
  logout: { system: dicomCodes, code: '110123', display: 'Logout' }
}

export const compositionStatus = ['preliminary', 'final', 'amended', 'entered-in-error'] as const

/** The relation of one document to another: http://hl7.org/fhir/R4/valueset-document-relationship-type.html */
export const documentRelations = ['replaces', 'transforms', 'signs', 'appends'] as const

/** Sections of a diagnostic service: http://terminology.hl7.org/CodeSystem/v2-0074 */
export const diagnosticSections = toKnownCodes('http://terminology.hl7.org/CodeSystem/v2-0074', {
  LAB: 'Laboratory',
  RAD: 'Radiology',
  AU: 'Audiology',
  BG: 'Blood Gases',
  BLB: 'Blood Bank',
  CG: 'Cytogenetics',
  CH: 'Chemistry',
  CP: 'Cytopathology',
  CT: 'CAT Scan',
  CTH: 'Cardiac Catheterization',
  CUS: 'Cardiac Ultrasound',
  EC: 'Electrocardiac (e.g., EKG,  EEC, Holter)',
  EN: 'Electroneuro (EEG, EMG,EP,PSG)',
  GE: 'Genetics',
  HM: 'Hematology',
  ICU: 'Bedside ICU Monitoring',
  IMG: 'Diagnostic Imaging',
  IMM: 'Immunology',
  MB: 'Microbiology',
  MCB: 'Mycobacteriology',
  MYC: 'Mycology',
  NMR: 'Nuclear Magnetic Resonance',
  NMS: 'Nuclear Medicine Scan',
  NRS: 'Nursing Service Measures',
  OSL: 'Outside Lab',
  OT: 'Occupational Therapy',
  OTH: 'Other',
  OUS: 'OB Ultrasound',
  PAR: 'Parasitology',
  PAT: 'Pathology (gross & histopath, not surgical)',
  PF: 'Pulmonary Function',
  PHR: 'Pharmacy',
  PHY: 'Physician (Hx. Dx, admission note, etc.)',
  PT: 'Physical Therapy',
  RC: 'Respiratory Care (therapy)',
  RT: 'Radiation Therapy',
  RUS: 'Radiology Ultrasound',
  RX: 'Radiograph',
  SP: 'Surgical Pathology',
  SR: 'Serology',
  TX: 'Toxicology',
  URN: 'Urinalysis',
  VR: 'Virology',
  VUS: 'Vascular Ultrasound',
  XRC: 'Cineradiograph'
})

/** Kinds of notes that clients send as bare words, by their LOINC codes. */
export const noteTypes = Object.fromEntries(
  Object.entries({
    'progress-note': ['11506-3', 'Progress note'],
    'discharge-summary': ['18842-5', 'Discharge summary'],
    'consultation-note': ['11488-4', 'Consult note'],
    'history-and-physical': ['34117-2', 'History and physical note'],
    'operative-note': ['11504-8', 'Surgical operation note'],
    'procedure-note': ['28570-0', 'Procedure note'],
    'referral-note': ['57133-1', 'Referral note'],
    other: ['34109-9', 'Note']
  }).map((
    [word, [code, display]]
  ) => [word, { system: 'http://loinc.org', code, display }])
)

export const noteCategories = toKnownCodes('http://hl7.org/fhir/us/core/CodeSystem/us-core-documentreference-category', {
  'clinical-note': 'Clinical Note'
})

/** Where a prescribed medicine is to be taken. */
export const prescriptionCategories = toKnownCodes('http://terminology.hl7.org/CodeSystem/medicationrequest-category', {
  inpatient: 'Inpatient',
  outpatient: 'Outpatient',
  community: 'Community',
  discharge: 'Discharge'
})

export const visionProducts = toKnownCodes('http://terminology.hl7.org/CodeSystem/ex-visionprescriptionproduct', {
  lens: 'Lens',
  contact: 'Contact Lens'
})

/** Whether a dose counts towards a series. */
export const doseStatus = toKnownCodes('http://terminology.hl7.org/CodeSystem/immunization-evaluation-dose-status', {
  valid: 'Valid',
  notvalid: 'Not valid'
})

export const goalCategories = toKnownCodes('http://terminology.hl7.org/CodeSystem/goal-category', {
  dietary: 'Dietary',
  safety: 'Safety',
  behavioral: 'Behavioral',
  nursing: 'Nursing',
  physiotherapy: 'Physiotherapy'
})

export const goalAchievement = {
  'in-progress': 'In Progress',
  improving: 'Improving',
  worsening: 'Worsening',
  'no-change': 'No Change',
  achieved: 'Achieved',
  sustaining: 'Sustaining',
  'not-achieved': 'Not Achieved',
  'no-progress': 'No Progress',
  'not-attainable': 'Not Attainable'
} as const

export const goalPriority = {
  'high-priority': 'High Priority',
  'medium-priority': 'Medium Priority',
  'low-priority': 'Low Priority'
} as const
