import type { AuditEntry } from '../../store/change-log.js'

/** Each action of the audit trail as the second half of a sentence that begins with the actor. */
const actionLabels: Readonly<Record<string, string>> = {
  'organization created': 'made the organization',
  'organization changed': 'changed the organization',
  'key created': 'made a key',
  'key rolled': 'rolled a key',
  'key revoked': 'revoked a key',
  'key changed': 'changed a key',
  'key expiry set': 'set the expiry of a key',
  'member added': 'became a member',
  'member invited': 'invited someone',
  'member changed': 'changed a member',
  'member removed': 'removed a member',
  'invitation withdrawn': 'withdrew an invitation',
  'signed in': 'signed in',
  'name changed': 'changed their name',
  'password changed': 'changed their password',
  'password reset': 'reset the password of a member',
  'token created': 'made a token',
  'token revoked': 'revoked a token',
  'webhook created': 'made a webhook',
  'webhook changed': 'changed a webhook',
  'webhook deleted': 'deleted a webhook',
  'webhook secret rolled': 'rolled the secret of a webhook',
  'webhook events sent again': 'had events of a webhook sent again',
  'subscription created': 'made a subscription',
  'subscription changed': 'changed a subscription',
  'subscription deleted': 'deleted a subscription'
}

/** The text of an action; an action without a text is shown unchanged. */
export function formatAction (action: string): string {
  return Object.hasOwn(actionLabels, action) ? actionLabels[action]! : action
}

/**
 * Who did it: `member:ann@example.org (mem-a)` is `ann@example.org` with the id `mem-a`, which members in older lines
 * do not have.
 */
export function parseActor (actor: string): { readonly text: string, readonly memberId?: string } {
  const [, email, memberId] = /^member:(\S+) \((mem-[^)]+)\)$/.exec(actor) ?? []
  if (email !== undefined) return { text: email, memberId }
  const [, kind, name] = /^(member|token|key|cli|provider):(.*)$/s.exec(actor) ?? []
  if (kind === undefined || name === undefined) return { text: actor }
  return {
    text:
      { member: name, token: `token ${name}`, key: `key ${name}`, cli: `${name} at the command line`, provider: `the provider ${name}` }[
        kind
      ] ?? actor
  }
}

/** The details of an action in short: `name: clinic, plan: pro`. */
export function formatDetail (detail: AuditEntry['detail']): string {
  if (typeof detail !== 'object' || detail === null) return ''
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && value !== '' && name !== 'tenantId')
    .map(([name, value]) => `${formatFieldName(name)}: ${name === 'scopes' && value === '*' ? 'read, write' : formatValue(value)}`)
    .join(', ')
}

function formatFieldName (name: string): string {
  return name.replace(/At$/, '').replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
}

function formatValue (value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text
}

/** The actor; below a member also the id, which distinguishes people with the same address. */
export function ActorName ({ actor }: { readonly actor: string }) {
  const { text, memberId } = parseActor(actor)
  return (
    <span>
      <span safe>{text}</span>
      {memberId === undefined
        ? ''
        : (
          <>
            {' '}
            <span class='beneath' safe>{memberId}</span>
          </>
          )}
    </span>
  )
}
