/** `node dist/config/write-documentation.js` writes everything that is generated from the configuration schema. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defaultFile, editorSchema, environmentExample, withTables } from './documentation.js'

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const json = (value: unknown) => JSON.stringify(value, null, 2) + '\n'

writeFileSync(root('config/clinigate.schema.json'), json(editorSchema()))
writeFileSync(root('config/default.json'), json(defaultFile()))
writeFileSync(root('config/env.example'), environmentExample())
const readme = root('README.md')
if (existsSync(readme)) writeFileSync(readme, withTables(readFileSync(readme, 'utf8')))
