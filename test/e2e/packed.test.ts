import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildMain } from '../harness/built.js'
import { startProcess } from './process.js'

const run = promisify(execFile)

/** The Node of the tests, and no program of development packages. */
const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)

t.test('the package that npm packs, installed into an empty folder, starts, migrates and serves', async t => {
  t.setTimeout(300_000)
  const folder = t.testdir({ empty: {}, packed: {} })
  const runNpm = (cwd: string, ...args: string[]) => run('npm', args, { cwd, env: { ...process.env, PATH } })
  const packed = join(folder, 'packed')
  // The build exists already; npm's own build needs the development packages.
  await runNpm(join(dirname(buildMain()), '..'), 'pack', '--ignore-scripts', '--pack-destination', packed)
  const [archive = ''] = readdirSync(packed)

  const cwd = join(folder, 'empty')
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'clinic', private: true }))
  await runNpm(cwd, 'install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', join(packed, archive))
  const installed = readdirSync(join(cwd, 'node_modules'))
  t.ok(installed.includes('better-sqlite3'))
  t.notOk(installed.includes('tap'), 'nothing of development comes along')

  const program = join(cwd, 'node_modules', '.bin', 'clinigate')
  const gateway = await startProcess(t, { command: [program, 'start'], cwd, environment: { PATH } })
  const headers = { 'x-api-key': gateway.key, 'content-type': 'application/json' }
  const body = JSON.stringify({ firstName: 'Ada', lastName: 'Byron' })
  const created = await fetch(`${gateway.url}/v1/patients`, { method: 'POST', headers, body })
  t.equal(created.status, 201)
  const { data } = await created.json() as { data: { id: string } }
  t.equal((await fetch(`${gateway.url}/v1/patients/${data.id}`, { headers })).status, 200)
  t.equal((await fetch(`${gateway.url}/openapi.json`)).status, 200)
  t.equal((await fetch(`${gateway.url}/docs/`)).status, 200)
  t.equal((await fetch(`${gateway.url}/dashboard/sign-in`)).status, 200)

  const backups = join(folder, 'backups')
  mkdirSync(backups)
  await run(program, ['backup', '--to', backups], { cwd, env: { ...gateway.env, PATH } })
  t.equal(readdirSync(backups).length, 1, 'the commands of the package work beside it')
})
