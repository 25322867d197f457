// The built gateway without some of its steps, so that the cost of each can be measured.
// Usage: node bench/gateway.js [--without limits,ledger,concurrency]; configured by the environment, like the gateway.
import { parseArgs } from 'node:util'
import { destination, pino } from 'pino'
import { loadConfig } from '../dist/config/load.js'
import { buildLogOptions } from '../dist/http/log.js'
import { buildGateway } from '../dist/app.js'
import { Disposables } from '../dist/bootstrap/parts.js'
import { openControlSide } from '../dist/bootstrap/control-plane.js'
import { openGatewaySide } from '../dist/bootstrap/gateway.js'

const { values: { without } } = parseArgs({ options: { without: { type: 'string', default: '' } } })

const everyPlan = {
  get: () => ({ requestsPerMinute: null, requestsPerMonth: null, overage: true }),
  getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true })
}

/** Replaces a step. */
const leftOut = {
  // No limit per minute and no monthly quota.
  limits: { plans: new Proxy({}, everyPlan) },
  ledger: { countUsage: () => {} },
  concurrency: { concurrency: { acquire: () => ({ isAdmitted: true, leave: () => {} }) } }
}

const config = loadConfig(process.env)
const log = pino(buildLogOptions(config.logLevel), destination(2))
const parts = { environment: process.env, version: '0.0.0', now: () => new Date(), log }
const closers = new Disposables()
const control = await openControlSide(config, parts, closers)
const { options } = await openGatewaySide(config, { ...parts, link: control.link }, closers)
const steps = without === '' ? [] : without.split(',')
for (const step of steps) {
  const unknown = leftOut[step] === undefined ? [step] : Object.keys(leftOut[step]).filter(name => !(name in options))
  if (unknown.length > 0) throw new Error(`the gateway has no option ${unknown}`)
}
const app = closers.add(await buildGateway(Object.assign({}, options, ...steps.map(step => leftOut[step]))))
console.log(await app.listen({ host: config.host, port: config.port }))
process.on('SIGTERM', async () => {
  await closers.close()
  process.exit(0)
})
