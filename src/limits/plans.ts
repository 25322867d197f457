import type { Plan, Plans } from '../config/schema.js'
import { Failure } from '../envelope/failures.js'

/**
 * The plan with this name. An organization whose plan is no longer configured gets no service, rather than an unlimited
 * one.
 * @throws {Failure} INTERNAL_ERROR
 */
export function getPlan (plans: Plans, name: string): Plan {
  const plan = Object.hasOwn(plans, name) ? plans[name] : undefined
  if (!plan) throw new Failure('INTERNAL_ERROR', { cause: new Error(`the configuration has no plan ${name}`) })
  return plan
}
