import { Failure } from '../../envelope/failures.js'
import type { WebhookOwner, WebhookScope } from '../../events/webhooks/webhook.js'
import { ControlError } from '../store/control-error.js'
import { ControlPlaneError } from './link.js'
import { unreadableResponse } from './messages.js'
import { isCallResponse, type Receivers } from './receiver-messages.js'

const retryAfterSeconds = 5

/**
 * The webhooks and subscriptions of a control plane in another process. `post` sends a message to a path below that of
 * the link, and returns the response's text. A refusal is thrown as ControlError, any other error as a Failure that a
 * client of the gateway may see.
 */
export function remoteReceivers (post: (path: string, content: object) => Promise<string>): Receivers {
  const caller = (path: keyof Receivers) => (name: string) => async (...args: readonly unknown[]): Promise<any> => {
    const read = await received(path, post(`/${path}/${name}`, args))
    if (!isCallResponse(path, name, read)) throw unreachable(path, new ControlPlaneError(unreadableResponse))
    if ('response' in read) return read.response
    const { reason, message, field } = read.refused
    throw new ControlError(reason, message, field)
  }
  const [call, subscribe] = [caller('webhooks'), caller('subscriptions')]
  return {
    webhooks: {
      create: (draft, owner) => call('create')(draft, ownerAlone(owner)),
      list: scope => call('list')(scopeAlone(scope)),
      find: (id, scope) => call('find')(id, scopeAlone(scope)),
      change: (id, owner, changes) => call('change')(id, ownerAlone(owner), changes),
      remove: (id, owner) => call('remove')(id, ownerAlone(owner)),
      roll: (id, owner) => call('roll')(id, ownerAlone(owner)),
      test: (id, owner) => call('test')(id, ownerAlone(owner)),
      deliveries: (id, scope, query) => call('deliveries')(id, scopeAlone(scope), query),
      resend: (id, owner, since) => call('resend')(id, ownerAlone(owner), since)
    },
    subscriptions: {
      create: (draft, owner) => subscribe('create')(draft, ownerAlone(owner)),
      list: scope => subscribe('list')(scopeAlone(scope)),
      find: (id, scope) => subscribe('find')(id, scopeAlone(scope)),
      replace: (id, owner, replacement) => subscribe('replace')(id, ownerAlone(owner), replacement),
      remove: (id, owner) => subscribe('remove')(id, ownerAlone(owner)),
      events: (id, scope, range) => subscribe('events')(id, scopeAlone(scope), range)
    }
  }
}

/** Only the members of a scope, since the object may be a complete caller. */
const scopeAlone = ({ tenantId, mode }: WebhookScope): WebhookScope => ({ tenantId, mode })
const ownerAlone = ({ tenantId, mode, by }: WebhookOwner): WebhookOwner => ({ tenantId, mode, by })

async function received (path: keyof Receivers, text: Promise<string>): Promise<unknown> {
  try {
    return JSON.parse(await text)
  } catch (error) {
    throw unreachable(path, error)
  }
}

function unreachable (path: keyof Receivers, cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: `The control plane, which stores the ${path}, cannot be reached. All other requests are served meanwhile.`,
    retryAfterSeconds,
    cause
  })
}
