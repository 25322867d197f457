import type { RateLimitStoreClass } from '../../limits/limiter.js'
import type { Config, Plans } from '../../config/schema.js'
import type { ControlStore } from '../store/store.js'
import type { Cookies } from './cookies.js'

/** The dashboard's dependencies; register it with the prefix `/dashboard`. */
export interface DashboardOptions {
  readonly control: ControlStore
  readonly settings: Config['dashboard']
  readonly plans: Plans
  /** Which datastores keys open, as far as this process is configured like the gateways. */
  readonly routing: Config['routing']
  /** Where applications find a gateway, for the lines that are shown with a key. */
  readonly gatewayUrl: string
  readonly now: () => Date
  /** Where browsers find this process: its scheme decides on Secure cookies. */
  readonly url: string
  /** The secret of the dashboard's client at the OpenID provider. */
  readonly clientSecret?: string
  /** Counts attempts to sign in for all processes of the port; absent if there is one. */
  readonly signInCounter?: RateLimitStoreClass
}

/** The same with the cookies, which all parts of the dashboard share. */
export interface DashboardContext extends DashboardOptions { readonly cookies: Cookies }
