/** Writes the OpenAPI document to the file named, or to standard output: `npm run openapi -- openapi.json`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { mappings } from '../../mappings/registry.js'
import { openApiDocument } from './document.js'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const text = `${JSON.stringify(openApiDocument(mappings, { version, url: 'http://127.0.0.1:8080' }), null, 2)}\n`
const [file] = process.argv.slice(2)
if (file === undefined) process.stdout.write(text)
else writeFileSync(file, text)
