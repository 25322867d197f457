/** Every resource type of FHIR R4 that has an endpoint: http://hl7.org/fhir/R4/resourcelist.html */
export const resourceTypes: ReadonlySet<string> = new Set(`
  Account ActivityDefinition AdverseEvent AllergyIntolerance Appointment AppointmentResponse AuditEvent Basic Binary
  BiologicallyDerivedProduct BodyStructure Bundle CapabilityStatement CarePlan CareTeam CatalogEntry ChargeItem
  ChargeItemDefinition Claim ClaimResponse ClinicalImpression CodeSystem Communication CommunicationRequest
  CompartmentDefinition Composition ConceptMap Condition Consent Contract Coverage CoverageEligibilityRequest
  CoverageEligibilityResponse DetectedIssue Device DeviceDefinition DeviceMetric DeviceRequest DeviceUseStatement
  DiagnosticReport DocumentManifest DocumentReference EffectEvidenceSynthesis Encounter Endpoint EnrollmentRequest
  EnrollmentResponse EpisodeOfCare EventDefinition Evidence EvidenceVariable ExampleScenario ExplanationOfBenefit
  FamilyMemberHistory Flag Goal GraphDefinition Group GuidanceResponse HealthcareService ImagingStudy Immunization
  ImmunizationEvaluation ImmunizationRecommendation ImplementationGuide InsurancePlan Invoice Library Linkage List
  Location Measure MeasureReport Media Medication MedicationAdministration MedicationDispense MedicationKnowledge
  MedicationRequest MedicationStatement MedicinalProduct MedicinalProductAuthorization
  MedicinalProductContraindication MedicinalProductIndication MedicinalProductIngredient MedicinalProductInteraction
  MedicinalProductManufactured MedicinalProductPackaged MedicinalProductPharmaceutical
  MedicinalProductUndesirableEffect MessageDefinition MessageHeader MolecularSequence NamingSystem NutritionOrder
  Observation ObservationDefinition OperationDefinition Organization OrganizationAffiliation Patient PaymentNotice
  PaymentReconciliation Person PlanDefinition Practitioner PractitionerRole Procedure Provenance Questionnaire
  QuestionnaireResponse RelatedPerson RequestGroup ResearchDefinition ResearchElementDefinition ResearchStudy
  ResearchSubject RiskAssessment RiskEvidenceSynthesis Schedule SearchParameter ServiceRequest Slot Specimen
  SpecimenDefinition StructureDefinition StructureMap Subscription Substance SubstanceNucleicAcid SubstancePolymer
  SubstanceProtein SubstanceReferenceInformation SubstanceSourceMaterial SubstanceSpecification SupplyDelivery
  SupplyRequest Task TerminologyCapabilities TestReport TestScript ValueSet VerificationResult VisionPrescription
`.trim().split(/\s+/))

/**
 * Types that one tenant cannot have to itself. A stored one of the conformance types changes how a datastore reads or
 * responds for every tenant; a Subscription is evaluated with the datastore's own rights and calls out.
 */
export const sharedTypes: ReadonlySet<string> = new Set(`
  CapabilityStatement CodeSystem CompartmentDefinition ConceptMap ExampleScenario GraphDefinition ImplementationGuide
  MessageDefinition NamingSystem OperationDefinition SearchParameter StructureDefinition StructureMap Subscription
  TerminologyCapabilities ValueSet
`.trim().split(/\s+/))

/** Whether a tenant can have records of this type; exact, case included. */
export function isTenantType (type: string): boolean {
  return resourceTypes.has(type) && !sharedTypes.has(type)
}
