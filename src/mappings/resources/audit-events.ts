import { code } from '../datatypes/code.js'
import { codingOf } from '../datatypes/coding.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { base64, boolean, instantOrDay, text } from '../datatypes/primitives.js'
import { anyResourceReference, referenceOrDisplay } from '../datatypes/reference.js'
import type { DefaultContext } from '../core/element.js'
import { byCode, byReference, byText, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { auditSubtypes, auditTypes } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const auditEventRules: readonly Rule[] = [
  {
    key: 'sev-1',
    fields: ['entity'],
    message: 'an entity has a name or a query, not both',
    holds: event =>
      itemsAt(event, 'entity').every(
        entity => !isElement(entity) || !exists(entity, 'name') || !exists(entity, 'query')
      )
  }
]

const agents = ['Practitioner', 'PractitionerRole', 'Organization', 'Device', 'Patient', 'RelatedPerson'] as const

const who = referenceOrDisplay(agents)

const coding = codingOf()

/** The key is the only certain fact about the system that reports. */
const reportingKey = ({ keyName }: DefaultContext) => ({ observer: keyName })

/** http://hl7.org/fhir/R4/auditevent.html */
export const auditEvents = mapping('AuditEvent', {
  path: 'audit-events',
  operation: 'createAuditEvent',
  about: 'Who did what to which records, and when; never changed, and deleted only by a key with the scope *.',
  appendOnly: true,
  fields: {
    type: codingOf(auditTypes)('type', { required: true, filter: 'type' }),
    subtype: codingOf(auditSubtypes).list('subtype', { filter: 'subtype' }),
    action: code(['C', 'R', 'U', 'D', 'E'])('action', {
      filter: 'action',
      about: 'Create, read, update, delete or execute.'
    }),
    recorded: instantOrDay('recorded', { required: true, default: now }),
    outcome: code(['0', '4', '8', '12'])('outcome', {
      default: '0',
      filter: 'outcome',
      about: 'Success, or a minor, serious or major failure.'
    }),
    outcomeDesc: text('outcomeDesc'),
    purposeOfEvent: concept.list('purposeOfEvent'),
    agent: backbone({
      who: who('who'),
      name: text('name'),
      altId: text('altId', { about: 'The name under which they were logged in.' }),
      requestor: boolean('requestor', { required: true, about: 'Whether they began it.' }),
      role: concept.list('role'),
      networkAddress: text('network.address'),
      networkType: code(['1', '2', '3', '4', '5'])('network.type', {
        about: 'Machine name, IP address, telephone number, e-mail address or URI.'
      })
    }).list('agent', { required: true, about: 'Who took part.' }),
    source: backbone({ observer: who('observer', { required: true }), site: text('site'), type: coding.list('type') })(
      'source',
      { required: true, default: reportingKey, about: 'The system that reports the event.' }
    ),
    entity: backbone({
      what: anyResourceReference('what'),
      type: coding('type'),
      role: coding('role'),
      name: text('name'),
      description: text('description'),
      query: base64('query', { about: 'The query that was run, in base64.' }),
      detail: backbone(
        { type: text('type', { required: true }), value: text('valueString', { required: true, choice: 'value' }) },
        { where: detail => detail.valueString !== undefined }
      ).list('detail')
    }).list('entity', { about: 'What it was done to, each with name or query.' }),
    period: period('period', { about: 'When it happened.' })
  },
  filters: {
    agentId: byReference('agent', ...agents),
    agent: byReference('agent', ...agents),
    agentName: byText('agent-name'),
    entityId: byReference('entity', 'Patient', 'any'),
    patientId: byReference('patient', 'Patient'),
    site: byCode('site'),
    address: byText('address'),
    dateFrom: from('date'),
    dateTo: until('date')
  },
  rules: auditEventRules
})
