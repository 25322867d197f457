/** Writes the OpenAPI document to the file named, or to standard output: `npm run openapi -- openapi.json`. */
import { writeFileSync } from 'node:fs'
import { buildOpenApiDocument } from '../api/openapi/document.js'
import { describeRoutes } from '../bootstrap/describe-routes.js'
import { version } from '../bootstrap/version.js'
import { mappings } from '../mappings/registry.js'

const document = buildOpenApiDocument(mappings, {
  version,
  url: 'http://127.0.0.1:8080',
  described: await describeRoutes()
})
const text = `${JSON.stringify(document, null, 2)}\n`
const [file] = process.argv.slice(2)
if (file === undefined) process.stdout.write(text)
else writeFileSync(file, text)
