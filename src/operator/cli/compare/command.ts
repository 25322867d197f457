import type { Command } from 'commander'
import { open } from 'node:fs/promises'
import { describeReadError } from '../../../files/read-error.js'
import { buildOpenApiDocument } from '../../../api/openapi/document.js'
import { describeRoutes } from '../../../bootstrap/describe-routes.js'
import { version } from '../../../bootstrap/version.js'
import { mappings } from '../../../mappings/registry.js'
import { ExitWithFindings, type CliContext } from '../context.js'
import { compareDocuments, type Difference } from './compare.js'
import { OpenApiDocument } from './document.js'

/** Documents of public services have one to five. */
const maxBytes = 32 * 1024 * 1024

const help = `
Lists the operations, fields and filters of another service's OpenAPI 3 document, in JSON, that this gateway does not
have or has with another type. References are followed within the file only; names of path parameters, and what
precedes /v1, do not matter. Needs no configuration and no gateway.

Exit codes: 0 nothing is missing, 1 something is, or the file is no such document, 2 invalid command.

  clinigate compare openapi.json
  clinigate compare openapi.json --json | jq -r 'select(.kind == "operation").operation'`

/** Adds the command that compares another service's API with this one. */
export function addCompare (program: Command, { out, err }: CliContext): void {
  const command = program.command('compare')
    .description("list what another service's OpenAPI document has and this gateway has not")
    .argument('<file>', 'an OpenAPI 3 document as JSON')
    .option('--json', 'print each difference as one line of JSON')
    .addHelpText('after', help)
  command.action(async (file: string, { json = false }: { readonly json?: boolean }) => {
    const theirs = await readDocument(file)
    const described = await describeRoutes({ hasEvents: true })
    const ours = new OpenApiDocument(buildOpenApiDocument(mappings, { version, url: 'http://localhost', described }))
    const differences = compareDocuments(theirs, ours)
    for (const difference of differences) {
      out(`${replaceControlCharacters(json ? JSON.stringify(difference) : formatDifference(difference))}\n`)
    }
    err(`${formatSummary(theirs.collectOperations().size, differences)}\n`)
    if (differences.length > 0) throw new ExitWithFindings()
  })
}

async function readDocument (file: string): Promise<OpenApiDocument> {
  try {
    return new OpenApiDocument(JSON.parse(await readText(file)))
  } catch (error) {
    throw new Error(`${file} cannot be compared: ${formatReason(error)}.`)
  }
}

function formatReason (error: unknown): string {
  // The parser's message quotes the file.
  if (error instanceof SyntaxError) return 'it is not JSON; convert YAML to JSON first'
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : describeReadError(error)
}

async function readText (file: string): Promise<string> {
  const handle = await open(file)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new Error('it is not a file')
    if (stat.size > maxBytes) throw new Error(`it has more than ${maxBytes / 1024 / 1024} MiB`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

function formatDifference (
  { kind, problem, operation, in: location, name, theirs = [], ours = [] }: Difference
): string {
  const what = [operation, location, name].filter(part => part !== undefined).join('  ')
  const types = problem === 'other type' ? `  ${theirs.join('|')} there, ${ours.join('|')} here` : ''
  return `${problem} ${kind}`.padEnd(22) + what + types
}

/** A line for a terminal, on which the names of an unknown document do nothing but stand there. */
const replaceControlCharacters = (line: string): string => line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\uFFFD')

function formatSummary (operations: number, differences: readonly Difference[]): string {
  const count = (kind: Difference['kind'], problem: Difference['problem']): number =>
    differences.filter(difference => difference.kind === kind && difference.problem === problem).length
  return [
    `${operations} operations compared.`,
    `Missing: ${count('operation', 'missing')} operations, ${count('field', 'missing')} fields,`,
    `${count('filter', 'missing')} filters.`,
    `Of another type: ${count('field', 'other type')} fields, ${count('filter', 'other type')} filters.`,
    ...count('reference', 'not followed') > 0 ? [`Not followed: ${count('reference', 'not followed')} references.`] : []
  ].join(' ')
}
