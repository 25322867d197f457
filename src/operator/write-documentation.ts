/**
 * `npm run docs` writes everything that is generated from declarations: configuration files, and tables between markers
 * in the pages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  buildDefaultFile, buildEditorSchema, formatEnvironmentExample, buildReferencePages, withTables
} from '../config/documentation.js'
import { formatMetricsTable } from '../observability/metrics/declarations.js'
import { formatPolicyTable } from '../tenant-guard/policy.js'

const resolveFromRoot = (path: string) => join(import.meta.dirname, '../..', path)
const formatJson = (value: unknown) => JSON.stringify(value, null, 2) + '\n'

function writePage (path: string, tables: Readonly<Record<string, string>>): void {
  writeFileSync(resolveFromRoot(path), withTables(readFileSync(resolveFromRoot(path), 'utf8'), tables))
}

writeFileSync(resolveFromRoot('config/clinigate.schema.json'), formatJson(buildEditorSchema()))
writeFileSync(resolveFromRoot('config/default.json'), formatJson(buildDefaultFile()))
writeFileSync(resolveFromRoot('config/env.example'), formatEnvironmentExample())
for (const [path, tables] of Object.entries(buildReferencePages())) writePage(path, tables)
writePage('docs/isolation.md', { policy: formatPolicyTable() })
writePage('docs/how-to/observe.md', { metrics: formatMetricsTable() })
