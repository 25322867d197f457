import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import { readGatewayToken } from '../config/secrets.js'
import type { Environment } from '../config/environment.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { createRemoteLink } from '../control-plane/sync/remote.js'

/** The link to the control plane that the configuration of a gateway names; opening it sends no request yet. */
export function openRemoteControl (
  config: Config,
  { environment, log }: { readonly environment: Environment; readonly log: FastifyBaseLogger }
): ControlPlaneClient {
  const url = config.control.url!
  if (isUnencrypted(url)) {
    log.warn(
      'control.url uses http: anyone on the network path could read the token and add keys; use https except on a trusted network'
    )
  }
  return createRemoteLink({ url, token: readGatewayToken(config, environment)! })
}

function isUnencrypted (url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
