import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.js'
import type { ControlStore } from '../control-plane/store/store.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { buildControlPlane, buildGateway, buildWorker } from '../app.js'
import { Readiness } from '../http/readiness.js'
import { ensureDirectory } from '../files/ensure.js'
import { Disposables, type ServiceParts } from './parts.js'
import type { ControlSide } from './control-plane.js'
import type { GatewayServices } from './gateway.js'
import { openMetrics, createCheckGauge } from './metrics.js'
import { toOwnDirectory, toShare } from './own-config.js'
import { openTraces } from '../observability/tracing.js'

/** Everything that one process runs, ready to listen. */
export interface Service {
  readonly app: FastifyInstance
  /** Absent where the control plane runs in another process. */
  readonly control?: ControlStore
  /** Names of the datastores that are sandboxes: for trying out only. */
  readonly sandboxes: readonly string[]
  /**
   * Resolves when the gateway in this process has all changes that its control store in this process has now;
   * immediately where one of the two is elsewhere.
   */
  readonly catchUp: () => Promise<void>
  /** Lets `/health/ready` report that no more requests should be sent here; all that arrive are still served. */
  readonly leave: () => void
  /** Responds to requests in progress and closes everything, in the reverse order of its opening. */
  readonly close: () => Promise<void>
}

/** Opens only what the role of the process needs. Neither a datastore nor a control plane elsewhere need respond. */
export async function openService (ofAll: Config, parts: ServiceParts): Promise<Service> {
  const config = parts.member === undefined ? ofAll : toShare(ofAll, parts.member)
  const closers = new Disposables()
  ensureDirectory(config.dataDirectory)
  try {
    const metrics = await openMetrics(config, parts, closers)
    const traces = await openTraces(parts, closers)
    return {
      ...(await roles[config.role](
        config,
        { ...parts, ...(metrics && { metrics }), ...(traces && { traces }) },
        closers
      )),
      close: () => closers.close()
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

type OpenedService = Omit<Service, 'close'>

const roles: Readonly<
  Record<Config['role'], (config: Config, parts: ServiceParts, closers: Disposables) => Promise<OpenedService>>
> = {
  all: async (config, parts, closers) => {
    const control = await openControl(config, parts, closers)
    const { options, keys, sandboxes } = await openGateway(config, { ...parts, link: control.link }, closers)
    const checks = { ...options.checks, webhooks: control.checks.webhooks! }
    const app = closers.add(await buildGateway({ ...options, checks, control: control.scopes, pages: control.pages }))
    return {
      app,
      control: control.store,
      sandboxes,
      leave: () => options.readiness.beginShutdown(),
      catchUp: () => keys.catchUp(control.store)
    }
  },

  gateway: async (...start) => await openWithRemoteControlPlane(buildGateway, ...start),

  worker: async (...start) => await openWithRemoteControlPlane(buildWorker, ...start),

  control: async (config, parts, closers) => {
    const { store, checks, scopes, pages } = await openControl(config, parts, closers)
    const { log: logger, now, version, metrics } = parts
    const readiness = new Readiness()
    metrics?.watch({ checks: createCheckGauge(checks, now) })
    const app = closers.add(
      await buildControlPlane({
        logger,
        trustedProxies: config.trustedProxies,
        connections: config.limits.connections,
        now,
        version,
        checks,
        readiness,
        onCompleted: metrics?.recordRequest,
        control: scopes,
        pages
      })
    )
    return { app, control: store, sandboxes: [], leave: () => readiness.beginShutdown(), catchUp: async () => {} }
  }
}

async function openWithRemoteControlPlane (
  build: typeof buildGateway,
  ...[config, parts, closers]: Parameters<typeof roles[Config['role']]>
): Promise<OpenedService> {
  const { openRemoteControl } = await import('./remote-control.js')
  const link = closers.add(openRemoteControl(config, parts))
  const { options, sandboxes } = await openGateway(config, { ...parts, link }, closers)
  return {
    app: closers.add(await build(options)),
    sandboxes,
    leave: () => options.readiness.beginShutdown(),
    catchUp: async () => {}
  }
}

// A role loads only its own modules: the mappings and the databases' query builder each need a tenth of a second and
// more.
const openControl = async (
  ...args: Parameters<typeof import('./control-plane.js').openControlSide>
): Promise<ControlSide> => await (await import('./control-plane.js')).openControlSide(...args)

const openGateway = async (
  config: Config, parts: ServiceParts & { readonly link: ControlPlaneClient }, closers: Disposables
): Promise<GatewayServices> => {
  const own = parts.member === undefined ? config : toOwnDirectory(config, parts.member)
  ensureDirectory(own.dataDirectory)
  return await (await import('./gateway.js')).openGatewaySide(own, { ...parts, ofAll: config }, closers)
}
