import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t, { type Test } from 'tap'
import { validate } from '../../src/operator/cli/validate/run.js'
import { mappings } from '../../src/mappings/registry.js'
import { getCliPath, runValidateProcess, env, type Ended } from './clinigate.js'

const faulty = '{ "firstName": "Ada", "lastName": "Byron", "birthDate": "14.3.1990" }'
const mebibyte = 1024 * 1024

/**
 * Makes the process print its peak memory when it ends, in KiB, as the last line on standard error. The young
 * generation is small, so that the peak is what the program holds.
 */
const memoryFlags = [
  '--max-semi-space-size=1',
  '--max-old-space-size=48',
  '--import',
  'data:text/javascript,process.on("exit",()=>console.error(process.resourceUsage().maxRSS))'
]

const parseMemory = ({ err }: Ended): number => Number(err.trimEnd().split('\n').at(-1)) * 1024

const record = (i: number): string =>
  `${JSON.stringify({ firstName: 'Ada', lastName: 'Byron', birthDate: i % 1000 === 0 ? 'soon' : '1990-03-14', identifiers: [{ system: 'urn:example:mrn', value: String(i) }] })}\n`

function * generateRecords (count: number): Generator<string> {
  for (let i = 1; i <= count; i++) yield record(i)
}

// Three processes read 20 MB and more; a busy machine takes its time.
t.setTimeout(600_000)

t.test(
  'memory does not grow with the input: not for 200,000 lines, by file or pipe, and not for one endless line',
  async t => {
    const file = join(t.testdir(), 'patients.ndjson')
    await pipeline(Readable.from(generateRecords(200_000)), createWriteStream(file))
    const { size } = await stat(file)
    const little = parseMemory(await runValidateProcess(['patients', '-'], generateRecords(2_000), memoryFlags))
    t.ok(little > 0)
    const byFile = await runValidateProcess(['patients', file], [], memoryFlags)
    t.match(byFile, {
      code: 1,
      out: /^line 1000: birthDate: .*\n[^]*line 200000: birthDate: .*\n200000 records checked, 200 invalid\.\n$/
    })
    const byPipe = await runValidateProcess(['patients', '-'], generateRecords(200_000), memoryFlags)
    t.equal(byPipe.out, byFile.out)
    const endless = await runValidateProcess(
      ['patients', '-', '--ndjson'],
      Array(300).fill(Buffer.alloc(mebibyte, 'x')),
      memoryFlags
    )
    t.match(endless, { code: 1, out: /^line 1: Payload too large/ })
    for (const run of [byFile, byPipe]) {
      t.ok(
        parseMemory(run) - little < 0.8 * size,
        `${parseMemory(run)} bytes of memory, ${little} for a hundredth of ${size} bytes`
      )
    }
    t.ok(parseMemory(endless) - little < 100 * mebibyte, `${parseMemory(endless)} bytes of memory for 300 MiB`)
  }
)

t.test('a report whose reader closes the pipe stops the command without a message', async t => {
  const file = join(t.testdir(), 'faulty.ndjson')
  await writeFile(file, `${faulty}\n`.repeat(50_000))
  const line = `"${process.execPath}" "${getCliPath()}" validate patients "${file}" | head -n 1; echo "$PIPESTATUS"`
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve, reject) =>
    execFile('bash', ['--norc', '-c', line], { env }, (error, stdout, stderr) =>
      error ? reject(error) : resolve({ stdout, stderr })
    )
  )
  t.match(stdout, /^line 1: birthDate: .*\n1\n$/)
  t.equal(stderr, '')
})

/** A stream that claims to be a terminal, and its output. */
function createTerminal (): { readonly stream: any, readonly drawn: () => string } {
  const parts: Buffer[] = []
  const stream = Object.assign(new PassThrough().on('data', part => parts.push(part)), { isTTY: true, columns: 200 })
  return { stream, drawn: () => Buffer.concat(parts).toString() }
}

async function validateInTerminal (t: Test, count: number) {
  const [out, err] = [createTerminal(), createTerminal()]
  const chunks = Readable.from((function * () { for (const line of generateRecords(count)) yield Buffer.from(line) })())
  const isFaulty = await validate({ chunks, size: [...generateRecords(count)].join('').length }, {
    mapping: mappings.find(({ path }) => path === 'patients')!,
    createContext: { now: '2026-03-14T09:30:00Z', keyName: 'a key', newUrl: () => 'https://example.org/1' },
    streams: { stdout: out.stream, stderr: err.stream },
    max: mebibyte,
    isJson: false,
    isNdjson: false
  })
  t.equal(isFaulty, true)
  return { report: out.drawn(), bar: err.drawn() }
}

t.test('on a terminal a large file shows its progress, and leaves only the report', async t => {
  const { report, bar } = await validateInTerminal(t, 80_000)
  t.match(bar, /\[=+-+\] \d+% \| \d+\.\d of \d\.\d MiB \| \d+ records \| \d+ faulty/)
  t.ok(bar.endsWith('\u001B[1G\u001B[2K'), 'the line is cleared in the end')
  t.notMatch(report, '[=')
  t.match(report, /80000 records checked, 80 invalid\.\n$/)
  t.equal((await validateInTerminal(t, 1_000)).bar.includes('['), false, 'a small one does not')
})
