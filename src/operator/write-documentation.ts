/**
 * `npm run docs` writes everything that is generated from declarations: configuration files, and tables between markers
 * in the pages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultFile, editorSchema, environmentExample, referencePages, withTables } from '../config/documentation.js'
import { metricsTable } from '../observability/metrics/declarations.js'
import { policyTable } from '../tenant-guard/policy.js'

const root = (path: string) => join(import.meta.dirname, '../..', path)
const json = (value: unknown) => JSON.stringify(value, null, 2) + '\n'

function writePage (path: string, tables: Readonly<Record<string, string>>): void {
  writeFileSync(root(path), withTables(readFileSync(root(path), 'utf8'), tables))
}

writeFileSync(root('config/clinigate.schema.json'), json(editorSchema()))
writeFileSync(root('config/default.json'), json(defaultFile()))
writeFileSync(root('config/env.example'), environmentExample())
for (const [path, tables] of Object.entries(referencePages())) writePage(path, tables)
writePage('docs/isolation.md', { policy: policyTable() })
writePage('docs/how-to/observe.md', { metrics: metricsTable() })
