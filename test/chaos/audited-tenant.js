import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { built } from './built.js'
import { Tenant } from './tenant.js'

const { listLogFiles, verify } = await import(join(built, 'observability', 'audit-log', 'chain.js'))

/** Clients of a gateway that must log every response in its access audit log. */
export class AuditedTenant extends Tenant {
  constructor ({ auditLog, ...parts }) {
    super(parts)
    this.auditLog = auditLog
    Object.assign(this.counts, { lines: 0, refusedWithoutRoom: 0 })
  }

  async settle () {
    await super.settle()
    const files = listLogFiles(this.auditLog)
    const lines = files.flatMap(file => readFileSync(file, 'utf8').trimEnd().split('\n'))
    const written = new Set(lines.map(line => JSON.parse(line).requestId))
    this.counts.lines = lines.length
    this.counts.refusedWithoutRoom = this.counts.refusedOnFullDisk
    const missing = this.served.filter(requestId => !written.has(requestId)).length
    if (missing > 0) this.violations.push(`${missing} answers without a line in the audit log`)
    const { broken } = await verify(files)
    if (broken !== undefined) this.violations.push(`the audit log is broken: ${broken.reason}`)
  }
}
