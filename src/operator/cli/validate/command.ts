import { InvalidArgumentError, type Command } from 'commander'
import { open, type FileHandle } from 'node:fs/promises'
import { describeReadError } from '../../../files/read-error.js'
import { configSchema } from '../../../config/schema.js'
import { formatSuggestion } from '../../../envelope/nearest.js'
import type { CreateContext } from '../../../mappings/core/element.js'
import type { Mapping } from '../../../mappings/core/mapping.js'
import { mappings } from '../../../mappings/registry.js'
import { ExitWithFindings, type CliContext } from '../context.js'
import { validate, type Input } from './run.js'

interface Options { readonly json?: true, readonly ndjson?: true }

const help = `
Checks each record with the same rules as POST /v1/<resource>, but not whether the records that it refers to exist.
The input is one JSON object over any number of lines, or NDJSON, one object per line.

Exit codes: 0 all records are valid, 1 a record is invalid or there are no records, 2 invalid command.

  clinigate validate patients patients.ndjson
  jq -c '.[]' list.json | clinigate validate observations - --json`

/**
 * Adds the command that checks records before they are sent; it needs no configuration, no data directory and no
 * datastore.
 */
export function addValidate (program: Command, { streams, now }: CliContext): void {
  const command = program.command('validate').description('check records in the simple form, without a gateway')
    .argument('<resource>', 'resource name as in the URL, such as patients', parseMapping)
    .argument('<file>', 'a JSON or NDJSON file, or - for standard input')
    .option('--json', 'print each invalid record as one line of JSON')
    .option('--ndjson', 'treat every line as a record, even if the first line looks different')
    .addHelpText('after', help)
  command.action(async (mapping: Mapping, file: string, options: Options) => {
    const input = await openInput(file, streams.stdin, command)
    const createContext: CreateContext = {
      now: now().toISOString(),
      keyName: 'clinigate validate',
      newUrl: () => 'https://example.org/new'
    }
    const faulty = await validate(input, {
      mapping,
      createContext,
      streams,
      max,
      isJson: options.json === true,
      isNdjson: options.ndjson === true
    })
    if (faulty) throw new ExitWithFindings()
  })
}

/** The gateway's default limit for the body of a POST. */
const { default: max } = configSchema.properties.limits.properties.bodyBytes as unknown as { readonly default: number }

function parseMapping (path: string): Mapping {
  const mapping = mappings.find(mapping => mapping.path === path)
  if (mapping !== undefined) return mapping
  throw new InvalidArgumentError(`No such resource${formatSuggestion(path, mappings.map(mapping => mapping.path), '.')}`)
}

async function openInput (file: string, stdin: AsyncIterable<Uint8Array>, command: Command): Promise<Input> {
  if (file === '-') return { chunks: stdin }
  try {
    const handle = await open(file)
    return { chunks: handle.createReadStream(), size: await getSize(handle) }
  } catch (error) {
    return command.error(`error: the file cannot be read: ${describeReadError(error)}`, { exitCode: 2 })
  }
}

/** @returns undefined for an input without a size, such as a named pipe */
async function getSize (handle: FileHandle): Promise<number | undefined> {
  const stat = await handle.stat()
  if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
  return stat.isFile() ? stat.size : undefined
}
