import { inputFile, type ImportContext } from './import-context.js'
import { withoutBom } from './lines.js'

/** The location of a line in the input, in bytes. */
interface LineSpan { readonly line: number, readonly at: number, readonly bytes: number }

/** Bytes between two lines up to which both are read in one go. */
const gap = 65_536

/** The contents of lines, by line number. */
export async function readContents (
  context: Pick<ImportContext, 'work' | 'input'>,
  lines: readonly LineSpan[]
): Promise<ReadonlyMap<number, Buffer>> {
  const contents = new Map<number, Buffer>()
  for (const run of runsOf([...lines].sort((a, b) => a.at - b.at))) {
    const start = run[0]!.at
    const last = run.at(-1)!
    const bytes = await bytesOf(context, start, last.at + last.bytes)
    for (const { line, at, bytes: length } of run) {
      contents.set(line, withoutBom(line, bytes.subarray(at - start, at - start + length)))
    }
  }
  return contents
}

/** Lines that are close to each other in the input, grouped. */
function runsOf (lines: readonly LineSpan[]): LineSpan[][] {
  const runs: LineSpan[][] = []
  for (const line of lines) {
    const before = runs.at(-1)?.at(-1)
    if (before !== undefined && line.at - (before.at + before.bytes) <= gap) runs.at(-1)!.push(line)
    else runs.push([line])
  }
  return runs
}

async function bytesOf (
  { work: { files }, input }: Pick<ImportContext, 'work' | 'input'>,
  start: number,
  end: number
): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of files.read(inputFile, { start, end, state: input }) as AsyncIterable<Buffer>) {
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
