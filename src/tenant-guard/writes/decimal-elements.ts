/** The elements of R4 of type decimal, but `value`. A test compares the list with the R4 definitions. */
export const decimalElements: ReadonlySet<string> = new Set(`
  add altitude amount answerDecimal backCurve conversionFactor cylinder defaultValueDecimal diameter duration
  durationMax fMeasure fScore factor factorOverride fixedDecimal from gtFP latitude level longitude lowerLimit
  maxValueDecimal minValueDecimal patternDecimal period periodMax points power precision probabilityDecimal queryFP
  queryTP recall relativeRisk score sensitivity sphere temperature to truthFN truthTP upperLimit valueDecimal
`.trim().split(/\s+/))

/** The elements of R4 whose `value` is a text, as that of an Identifier is; that of all others is no text. A test compares this list, too. */
export const elementsWithTextValue: ReadonlySet<string> = new Set(`
  accessionIdentifier additionalIdentifier assert authorisationReferenceNumber cTerminalModificationId class component
  contact crossReference defaultValueContactPoint defaultValueIdentifier dependsOn designation element filter
  fixedContactPoint fixedIdentifier groupIdentifier identifier immediatePackaging label masterIdentifier
  nTerminalModificationId organismId outerPackaging parameter parentSubstanceId patientCharacteristics
  patternContactPoint patternIdentifier paymentIdentifier preAdmissionIdentifier predecessor product reference
  requestHeader requestIdentifier requisition target targetIdentifier telecom uniqueId valueContactPoint
  valueIdentifier version
`.trim().split(/\s+/))
