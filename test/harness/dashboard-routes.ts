import fastify from 'fastify'
import { dashboard } from '../../src/control-plane/dashboard/routes.js'
import type { DashboardOptions } from '../../src/control-plane/dashboard/options.js'

/** A route of the dashboard, with `:name` where an id stands. */
export interface DashboardRoute { readonly method: 'GET' | 'POST', readonly path: string }

/** Every route that the dashboard registers, so that a test of all of them can't forget one. */
export async function listDashboardRoutes (control: DashboardOptions['control']): Promise<DashboardRoute[]> {
  const app = fastify()
  const routes: DashboardRoute[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routes.push({ method: one as 'GET', path: url })
  })
  await app.register(dashboard, {
    prefix: '/dashboard',
    control,
    settings: { sessionIdleMinutes: 60, sessionHours: 12, localAccounts: true },
    plans: {},
    routing: { test: 'test', live: 'live', dedicated: {} },
    gatewayUrl: 'http://127.0.0.1',
    url: 'http://127.0.0.1',
    now: () => new Date()
  })
  await app.ready()
  await app.close()
  return routes
}
