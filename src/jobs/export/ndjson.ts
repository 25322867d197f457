/** The lines of NDJSON that was written here, as many at a time as are there. */
export async function * ndjsonChunks (bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let begun: Buffer[] = []
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(0x0a)
    if (end < 0) {
      begun.push(chunk)
      continue
    }
    yield Buffer.concat([...begun, chunk.subarray(0, end)]).toString().split('\n')
    begun = [chunk.subarray(end + 1)]
  }
}
