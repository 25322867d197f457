/**
 * The elements of R4 of type uri, url or canonical, without those whose name also has free text. A value like
 * `Questionnaire/1` there leads to a record, though it is no Reference. A test compares the list with the R4
 * definitions.
 */
export const uriElements: ReadonlySet<string> = new Set(`
  answerValueSet authority authorizationUrl base baseDefinition capabilities compartment contentReference
  defaultValueCanonical defaultValueUri defaultValueUrl definitionCanonical definitionUri derivedFrom derivedFromUri
  endpoint eventUri exampleCanonical fixedCanonical fixedUri fixedUrl fullUrl graph identifier implementationGuide
  implicitRules import imports inputProfile instantiates instantiatesCanonical instantiatesUri issuer jurisdiction
  library link measure moduleCanonical moduleUri nameUrl onlineInformation outputProfile parent partOf
  patternCanonical patternUri patternUrl policy profile project property protocol questionnaire relativePath
  rendering replaces resource sourceCanonical sourceUri supplements supportedProfile system target targetCanonical
  targetProfile targetUri topic transform uri valueCanonical valueSet valueUri valueUrl workflow url
`.trim().split(/\s+/))

/**
 * Elements whose `reference` is a uri, an Expression's or an education material's; none of these names has a Reference.
 */
export const uriReferenceParents: ReadonlySet<string> = new Set([
  'criteria', 'defaultValueExpression', 'definitionExpression', 'education', 'expression', 'fixedExpression',
  'patternExpression', 'valueExpression'
])
