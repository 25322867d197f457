/** No client chooses the id of a new record, so none can make one that begins so. */
const prefix = 'clinigate-access-'

/** The id of the AuditEvent of a line of the access audit log, by the line's hash: the same whenever it is sent. */
export function accessEventId (hash: string): string {
  return `${prefix}${hash.slice(0, 40)}`
}

/** Whether the gateway itself wrote this record, which no tenant may change or delete then. */
export function isAccessEvent (type: string, id: unknown): boolean {
  return type === 'AuditEvent' && typeof id === 'string' && id.startsWith(prefix)
}
