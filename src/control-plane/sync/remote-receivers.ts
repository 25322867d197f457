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
export function createRemoteReceivers (post: (path: string, content: object) => Promise<string>): Receivers {
  const createCaller =
    (path: keyof Receivers) =>
      (name: string) =>
        async (...args: readonly unknown[]): Promise<any> => {
          const read = await parseResponse(path, post(`/${path}/${name}`, args))
          if (!isCallResponse(path, name, read)) throw unreachable(path, new ControlPlaneError(unreadableResponse))
          if ('response' in read) return read.response
          const { reason, message, field } = read.refused
          throw new ControlError(reason, message, field)
        }
  const [call, subscribe] = [createCaller('webhooks'), createCaller('subscriptions')]
  return {
    webhooks: {
      create: (draft, owner) => call('create')(draft, toOwner(owner)),
      list: scope => call('list')(toScope(scope)),
      find: (id, scope) => call('find')(id, toScope(scope)),
      change: (id, owner, changes) => call('change')(id, toOwner(owner), changes),
      remove: (id, owner) => call('remove')(id, toOwner(owner)),
      roll: (id, owner) => call('roll')(id, toOwner(owner)),
      test: (id, owner) => call('test')(id, toOwner(owner)),
      deliveries: (id, scope, query) => call('deliveries')(id, toScope(scope), query),
      resend: (id, owner, since) => call('resend')(id, toOwner(owner), since)
    },
    subscriptions: {
      create: (draft, owner) => subscribe('create')(draft, toOwner(owner)),
      list: scope => subscribe('list')(toScope(scope)),
      find: (id, scope) => subscribe('find')(id, toScope(scope)),
      replace: (id, owner, replacement) => subscribe('replace')(id, toOwner(owner), replacement),
      remove: (id, owner) => subscribe('remove')(id, toOwner(owner)),
      events: (id, scope, range) => subscribe('events')(id, toScope(scope), range)
    }
  }
}

/** Only the members of a scope, since the object may be a complete caller. */
const toScope = ({ tenantId, mode }: WebhookScope): WebhookScope => ({ tenantId, mode })
const toOwner = ({ tenantId, mode, by }: WebhookOwner): WebhookOwner => ({ tenantId, mode, by })

async function parseResponse (path: keyof Receivers, text: Promise<string>): Promise<unknown> {
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
