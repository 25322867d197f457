// Fails when a request costs more than 20 % above what declared.json says: the processor time of guarded reads and
// searches as a ratio to a bare proxy in the same run, in many short rounds by turns. What seems slow is measured again
// before it counts. Beside other work that ratio is another one, since caches are shared: where that takes a quarter of
// the machine or more only twice as much fails, and what was declared there is compared with nothing. --strict compares
// closely all the same.
// Usage: npm run bench -- check [--write: declares what it measures] [--strict] [--flags=--import=/a/module.js: of the
//   gateway's Node.js]
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bare, startContestants, target } from './contestants.js'
import { median, sum, table } from './figures.js'
import { alternate } from './load.js'
import { processorTime, stopAll } from './processes.js'

const file = join(import.meta.dirname, 'declared.json')
const busy = 0.25
const allowed = { calm: 1.2, busy: 2 }
const interfaces = ['clinigate raw', 'clinigate simple']
/** Requests of a round: fewer of those that take longer. */
const amounts = { read: 800, 'search of 20': 400 }

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    flags: { type: 'string', default: '' }
  }
})

const contestants = await startContestants({ peers: [bare], flags: values.flags.split(' ').filter(Boolean) })
try {
  const share = shareOfOthers()
  const measured = new Map()
  for (const work of Object.keys(amounts)) {
    await measure(work, { rounds: 3 })
    for (const [name, ratios] of await measure(work, { rounds: 11 })) measured.set(name, ratios)
  }
  await (values.write ? declare : judge)(measured, share)
} finally {
  stopAll()
}

/** @returns the ratios of each round, by `<work>, <interface>` */
async function measure (work, { rounds }) {
  const targets = Object.fromEntries([bare, ...interfaces].map(name => [name, target(contestants, name, work)]))
  const results = await alternate(targets, { rounds, amount: amounts[work], connections: 8 })
  const ratios = name => results[name].map(({ cost }, round) => cost / results[bare][round].cost)
  return interfaces.map(name => [`${work}, ${name}`, ratios(name)])
}

async function judge (measured, share) {
  const { otherWork, ratios: declared } = JSON.parse(readFileSync(file, 'utf8'))
  const isComparable = otherWork <= busy || values.strict
  const most = () => share() > busy && !values.strict ? allowed.busy : allowed.calm
  const isSlow = name => isComparable && median(measured.get(name)) > declared[name] * most()
  for (const work of Object.keys(amounts)) {
    if (![...measured.keys()].some(name => name.startsWith(work) && isSlow(name))) continue
    console.log(`${work} seems slow, and is measured again`)
    for (const [name, ratios] of await measure(work, { rounds: 25 })) measured.set(name, ratios)
  }
  show(measured, declared, share())
  if (!isComparable) console.log('Not compared: bench/declared.json was written beside other work.')
  const slow = [...measured.keys()].filter(isSlow)
  if (slow.length === 0) return
  console.error(
    `More than ${most()} times what bench/declared.json says: ${slow.join('; ')}. ` +
    'See what takes the time (--flags=--cpu-prof); where it is worth its price: npm run bench -- check --write'
  )
  process.exitCode = 1
}

function declare (measured, share) {
  const declared = Object.fromEntries([...measured].map(([name, all]) => [name, Number(median(all).toFixed(2))]))
  const otherWork = Number(share().toFixed(2))
  writeFileSync(file, `${JSON.stringify({ otherWork, ratios: declared }, null, 2)}\n`)
  show(measured, declared, share())
}

function show (measured, declared, share) {
  const rows = [...measured].map(([name, ratios]) => [
    name, median(ratios).toFixed(2), declared[name], ratios.map(one => one.toFixed(2)).join(' ')
  ])
  console.log(table([`processor time to ${bare}`, 'median', 'declared', 'of each round'], rows))
  const remark = share > busy ? ', too much to compare closely' : ''
  console.log(`Other work took ${Math.round(share * 100)} % of the machine${remark}.`)
}

/** Measures from now on. @returns which part of all processors other processes have taken since */
function shareOfOthers () {
  // All that the benchmark has started counts as its own.
  const times = () => ({ own: processorTime(process.pid), all: busyMs(), at: performance.now() })
  const before = times()
  return () => {
    const now = times()
    return (now.all - before.all - (now.own - before.own)) / (now.at - before.at) / cpus().length
  }
}

/** What all processors have worked by now, in ms. */
function busyMs () {
  return sum(cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq))
}
