import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runDocker, run } from './engine.js'
import { printLine } from './set-up.js'
import { readNpmSettings, root } from './build.js'

t.setTimeout(900_000)

interface Image {
  readonly Size: number
  readonly Config: {
    readonly User: string
    readonly Labels: Readonly<Record<string, string>>
    readonly Env: readonly string[]
  }
}

const inspect = async (): Promise<Image> => (JSON.parse(await runDocker('image', 'inspect', 'clinigate')) as [Image])[0]

t.test('the image has its version and revision, and runs without privileges', async t => {
  const { Config, Size } = await inspect()
  const revision = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  t.match(Config.Labels, {
    'org.opencontainers.image.title': 'clinigate',
    'org.opencontainers.image.version': /./,
    'org.opencontainers.image.revision': revision
  })
  t.notMatch(Config.User, /^(0|root)?(:|$)/)
  t.match(await runDocker('run', '--rm', '--network', 'none', '--entrypoint', '/nodejs/bin/node', 'clinigate', '-p',
    'process.getuid()'), /^[1-9]\d*\n$/)
  printLine(`the image has ${Math.round(Size / 1e6)} MB`)
})

t.test('the image has no shell, no package manager and no development files', async t => {
  for (const program of ['sh', 'bash', 'apt-get', 'npm']) {
    await t.rejects(runDocker('run', '--rm', '--network', 'none', '--entrypoint', program, 'clinigate'), program)
  }
  const files = await listImageFiles()
  t.ok(files.includes('app/dist/operator/cli/index.js'))
  const development = ['.npmrc', '.git', 'src', 'test', 'node_modules/typescript', 'node_modules/tap', 'node_modules/node']
  t.strictSame(files.filter(file => development.some(name => file.startsWith(`app/${name}/`) || file === `app/${name}`)), [])
})

t.test('the npm settings of the build are neither in the history nor in the file system', async t => {
  const values = (await readNpmSettings()).split('\n').map(line => line.slice(line.indexOf('=') + 1)).filter(isRevealing)
  const history = await runDocker('history', '--no-trunc', 'clinigate')
  t.strictSame(values.filter(value => history.includes(value)).length, 0)
  t.strictSame((await inspect()).Config.Env.filter(text => /npm|proxy|cert/i.test(text)), [])
  t.strictSame((await listImageFiles()).filter(file => /npmrc$/.test(file)), [])
  // A few certificates stand for all, and of each a line from its middle, which looks the same in every form.
  const certificates = values.filter(value => value.includes('BEGIN')).slice(0, 4).map(value => value.split('\\n').at(5)!)
  const parts = [...values.filter(value => !value.includes('BEGIN')), ...certificates]
  const base = readFileSync(join(root, 'docker', 'Dockerfile'), 'utf8').match(/^FROM \S+/gm)!.at(-1)!.slice('FROM '.length)
  const name = '"name": "clinigate"'
  const [found, ...rest] = await findInFiles('clinigate', [name, ...parts])
  t.equal(found, name, 'what is there is found')
  // Authorities that the base image has by itself are no trace.
  t.strictSame(rest, rest.length > 0 ? await findInFiles(base, parts) : [])
  printLine(`npm received ${values.length} settings for the build`)
})

/** Whether a value reveals something of the build machine. */
const isRevealing = (value: string): boolean => value.length > 12

t.test('the image starts with a read-only root, no privileges and no network, and ends on SIGTERM', async t => {
  const began = Date.now()
  const id = (await runDocker('run', '--detach', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true',
    '--network', 'none', '--tmpfs', '/tmp', 'clinigate')).trim()
  t.after(() => runDocker('rm', '--force', '--volumes', id))
  const readHealth = async (): Promise<string> =>
    (await runDocker('inspect', '--format', '{{.State.Status}} {{.State.Health.Status}}', id)).trim()
  while (await readHealth() === 'running starting') await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(await readHealth(), 'running healthy')
  printLine(`healthy after ${((Date.now() - began) / 1_000).toFixed(1)} s, on the sandbox`)
  await runDocker('stop', '--time', '30', id)
  t.equal((await runDocker('inspect', '--format', '{{.State.ExitCode}}', id)).trim(), '0')
})

/** Which of the texts are somewhere in the files of an image. */
async function findInFiles (image: string, texts: readonly string[]): Promise<string[]> {
  const id = (await runDocker('create', image, 'none')).trim()
  const missing = new Set(texts)
  let before = Buffer.alloc(0)
  for await (const chunk of spawn('docker', ['export', id], { stdio: ['ignore', 'pipe', 'ignore'] }).stdout) {
    // A text may begin in one chunk and end in the next.
    const combined = Buffer.concat([before, chunk as Buffer])
    for (const text of missing) if (combined.includes(text)) missing.delete(text)
    before = combined.subarray(-1_000)
  }
  await runDocker('rm', '--volumes', id)
  return texts.filter(text => !missing.has(text))
}

async function listImageFiles (): Promise<string[]> {
  const id = (await runDocker('create', 'clinigate')).trim()
  try {
    return (await run(['sh', '-c', `docker export ${id} | tar -t`])).trim().split('\n')
  } finally {
    await runDocker('rm', '--volumes', id)
  }
}
