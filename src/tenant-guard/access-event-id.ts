/** Clients cannot choose the id of a new record, so none can create one with this prefix. */
const prefix = 'clinigate-access-'

/**
 * The id of the AuditEvent for a line of the access audit log. It is made from the line's hash, so it stays the same
 * when the line is sent again.
 */
export function toAccessEventId (hash: string): string {
  return `${prefix}${hash.slice(0, 40)}`
}

/** Whether the gateway itself wrote this record; no tenant may change or delete such a record. */
export function isAccessEvent (type: string, id: unknown): boolean {
  return type === 'AuditEvent' && typeof id === 'string' && id.startsWith(prefix)
}
