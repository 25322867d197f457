import type { JobOwner } from '../../jobs/model/job.js'
import { toAccessEventId } from '../../tenant-guard/access-event-id.js'
import type { AccessEvent } from '../../tenant-guard/access-events.js'
import { interactionCodes } from '../../tenant-guard/interaction-codes.js'
import { isId } from '../../fhir/names.js'
import { resourceTypes } from '../../fhir/resource-types.js'
import type { AuditEntry } from './entry.js'

/** The content of AuditEvents beyond their line. */
interface AuditEventParts {
  /** The system of the tenants' tags, below which are those of the identifiers: `…:record`, `…:key`, `…:request`. */
  readonly tenantSystem: string
  /** Where clients reach this gateway. */
  readonly url: string
}

/** A line, the key whose access it records, and the line's hash. */
interface RecordedAccess {
  readonly entry: AuditEntry
  readonly owner: Pick<JobOwner, 'keyName'>
  readonly hash: string
}

/**
 * A line of the access audit log as http://hl7.org/fhir/R4/auditevent.html. Records are named by identifiers and not by
 * literal references, which would prevent the deletion of a record forever after its first access, and could not name
 * one that is deleted.
 */
export function toAuditEvent (
  { entry, owner: { keyName }, hash }: RecordedAccess,
  { tenantSystem, url }: AuditEventParts
): AccessEvent {
  const { time, keyId, action, interaction, outcome, code, requestId } = entry
  return {
    resourceType: 'AuditEvent',
    id: toAccessEventId(hash),
    type: {
      system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
      code: 'rest',
      display: 'RESTful Operation'
    },
    ...(interaction !== undefined && {
      subtype: [{ system: 'http://hl7.org/fhir/restful-interaction', code: interactionCodes[interaction].restful }]
    }),
    action,
    recorded: time,
    outcome,
    ...(code !== undefined && { outcomeDesc: code }),
    agent: [
      {
        who: { identifier: { system: `${tenantSystem}:key`, value: keyId }, display: keyName },
        altId: keyId,
        name: keyName,
        requestor: true
      }
    ],
    source: {
      observer: { identifier: { system: 'urn:ietf:rfc:3986', value: url }, display: 'clinigate' },
      type: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/security-source-type',
          code: '4',
          display: 'Application Server'
        }
      ]
    },
    entity: [
      ...buildRecordEntities(entry, tenantSystem),
      {
        what: { identifier: { system: `${tenantSystem}:request`, value: requestId } },
        type: { system: entityTypes, code: '4', display: 'Other' },
        name: requestId
      }
    ]
  }
}

const entityTypes = 'http://terminology.hl7.org/CodeSystem/audit-entity-type'

/** The record, or the type with how many were shown, and each that was shown where the line names them. */
function buildRecordEntities ({ type = '', id, records, shown = [] }: AuditEntry, tenantSystem: string): object[] {
  // The types of an export are joined by commas. Any text that is not a type or id of R4 is a client's own, and
  // omitted.
  const types = type.split(',').filter(name => resourceTypes.has(name))
  const named = id !== undefined && isId(id) ? types.map(name => `${name}/${id}`) : []
  const requested =
    named.length > 0
      ? named.map(name => toRecordEntity(name, tenantSystem))
      : types.map(name => ({ type: toTypeCoding(name) }))
  const counted = requested.map((entity, at) =>
    at === 0 && records !== undefined
      ? { ...entity, detail: [{ type: 'records', valueString: String(records) }] }
      : entity
  )
  return [...counted, ...shown.filter(name => !named.includes(name)).map(name => toRecordEntity(name, tenantSystem))]
}

/** Its name is searchable as `entity-name`: few servers search in the identifier of a reference. */
function toRecordEntity (name: string, tenantSystem: string): object {
  const [type] = name.split('/') as [string]
  return {
    what: { type, identifier: { system: `${tenantSystem}:record`, value: name } },
    type: toTypeCoding(type),
    name
  }
}

const toTypeCoding = (type: string) => ({ system: 'http://hl7.org/fhir/resource-types', code: type })
