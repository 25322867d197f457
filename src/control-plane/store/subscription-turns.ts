import type { Kysely, Transaction } from 'kysely'
import type { Attempt } from '../../events/webhooks/delivery-queue.js'
import type { Tables } from './tables.js'

/** What a handshake says of a subscription: events are sent from then on, or it ends with an error. @param at now */
export async function settleHandshake (
  trx: Transaction<Tables>, id: string, { attempt, at }: { readonly attempt: Attempt, readonly at: string }
): Promise<void> {
  const { outcome, error, responseStatus } = attempt
  const isShaken = outcome === 'delivered'
  const reason = error ?? `the receiver responded with status ${responseStatus}`
  await trx.updateTable('webhooks').set({
    awaitsHandshake: 0,
    enabled: isShaken ? 1 : 0,
    disabledAt: isShaken ? null : at,
    disabledReason: isShaken ? null : `The handshake failed: ${reason}.`
  }).where('id', '=', id).execute()
}

/** Switches off the subscriptions whose time is over. @param at now */
export async function endSubscriptions (db: Kysely<Tables>, at: string): Promise<void> {
  const ended = await db.selectFrom('webhooks').select('id').where('endsAt', '<=', at)
    .where(eb => eb.or([eb('enabled', '=', 1), eb('awaitsHandshake', '=', 1)])).execute()
  for (const { id } of ended) {
    await db.updateTable('webhooks').set(eb => ({
      enabled: 0, awaitsHandshake: 0, leaseNumber: eb('leaseNumber', '+', 1), leasedUntil: null
    })).where('id', '=', id).where('endsAt', '<=', at).execute()
  }
}
