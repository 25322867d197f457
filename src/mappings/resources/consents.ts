import { attachment, period } from '../datatypes/complex.js'
import { code, conceptCode } from '../datatypes/code.js'
import { coding, concept, type CodingValue, type ConceptValue } from '../datatypes/concept.js'
import { boolean, dateTime, uri } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { inMatchingItem } from '../fields/list-items.js'
import { normalizePolicyUri } from '../fields/other-forms.js'
import type { DefaultContext } from '../core/element.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone, recursiveBackbone } from '../core/structure.js'
import { consentScopes } from '../value-sets.js'
import { itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

/** ppc-2 to ppc-5 require a patient, by scope; the simple form always has one. */
const consentRules: readonly Rule[] = [
  {
    key: 'ppc-1',
    fields: ['policyUri', 'policies', 'policyRule'],
    message: 'a consent needs one of policyUri, policies and policyRule',
    holds: consent => itemsAt(consent, 'policy').length > 0 || consent.policyRule !== undefined
  }
]

type Period = NonNullable<ReturnType<typeof period.codec.read>>

/** A permission or prohibition, with exceptions of the same shape. */
interface Provision {
  readonly type?: 'deny' | 'permit'
  readonly period?: Period
  readonly actor?: ReadonlyArray<{ readonly role: ConceptValue; readonly reference: string }>
  readonly action?: readonly ConceptValue[]
  readonly securityLabel?: readonly CodingValue[]
  readonly purpose?: readonly CodingValue[]
  readonly class?: readonly CodingValue[]
  readonly code?: readonly ConceptValue[]
  readonly dataPeriod?: Period
  readonly data?: ReadonlyArray<{
    readonly meaning: 'instance' | 'related' | 'dependents' | 'authoredby'
    readonly reference: string
  }>
  readonly provision?: readonly Provision[]
}

const actors = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'RelatedPerson',
  'Organization',
  'CareTeam',
  'Group',
  'Device'
] as const

const provision = recursiveBackbone<Provision>('Provision', self => ({
  type: code(['deny', 'permit'])('type'),
  period: period('period'),
  actor: backbone({
    role: concept('role', { required: true }),
    reference: reference(actors)('reference', { required: true })
  }).list('actor'),
  action: concept.list('action'),
  securityLabel: coding.list('securityLabel'),
  purpose: coding.list('purpose'),
  class: coding.list('class'),
  code: concept.list('code'),
  dataPeriod: period('dataPeriod'),
  data: backbone({
    meaning: code(['instance', 'related', 'dependents', 'authoredby'])('meaning', { required: true }),
    reference: anyReference('reference', { required: true })
  }).list('data'),
  provision: self.list('provision')
}))

const policyNotSpecified = ({ simple }: DefaultContext) =>
  simple.policyUri === undefined && simple.policies === undefined ? 'not specified' : undefined

/** http://hl7.org/fhir/R4/consent.html */
export const consents = mapping('Consent', {
  path: 'consents',
  operation: 'signConsent',
  about: 'A patient’s recorded agreement: who may use which data, for what, and until when.',
  fields: {
    identifiers: identifiers(),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    status: code(['draft', 'proposed', 'active', 'rejected', 'inactive'], { shown: ['entered-in-error'] })('status', {
      required: true,
      default: 'active',
      filter: 'status'
    }),
    scope: conceptCode('http://terminology.hl7.org/CodeSystem/consentscope', consentScopes)('scope', {
      required: true,
      filter: 'scope'
    }),
    category: concept.list('category', { required: true, filter: 'category' }),
    dateTime: dateTime('dateTime', { default: now, about: 'When it was signed.' }),
    performerId: reference(['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson', 'Organization']).first(
      'performer',
      { about: 'Who agrees.' }
    ),
    organizationId: reference('Organization').first('organization', {
      filter: 'organization',
      about: 'The custodian.'
    }),
    policyUri: inMatchingItem(
      'policy',
      { find: policy => policy.authority === undefined && policy.uri !== undefined },
      uri('uri', { about: 'The policy without an authority.' })
    ),
    policies: backbone(
      { authority: uri('authority', { required: true }), uri: uri('uri') },
      { where: policy => policy.authority !== undefined }
    ).list('policy', {
      about: 'The policies with an authority. One without may be sent here too, and is shown as policyUri.'
    }),
    policyRule: concept('policyRule', { default: policyNotSpecified }),
    sourceAttachment: attachment('sourceAttachment', { choice: 'source' }),
    sourceReferenceId: reference(['Consent', 'DocumentReference', 'Contract', 'QuestionnaireResponse'])(
      'sourceReference',
      { choice: 'source' }
    ),
    verification: backbone({
      verified: boolean('verified', { required: true }),
      verifiedWith: reference(['Patient', 'RelatedPerson'])('verifiedWith'),
      verificationDate: dateTime('verificationDate')
    }).list('verification'),
    provision: provision('provision')
  },
  filters: { dateFrom: from('date'), dateTo: until('date') },
  rules: consentRules,
  normalizeInput: normalizePolicyUri
})
