import type { Key } from '../../store/keys.js'
import { Badge, Copyable, DescriptionItem, Heading, Time, OptionalTime, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, SubmitButton, TextField } from '../forms.js'
import { KeyStatusBadge, getKeyStatus, isActive, formatScopes } from './list.js'
import { auditPath, keyPath } from '../paths.js'
import { ActorName } from '../audit/labels.js'

/** The content of the page of a key. */
interface KeyPageProps {
  readonly csrf: string
  readonly apiKey: Key
  readonly now: Date
  readonly mayChange: boolean
  readonly lastDay?: string
  readonly error?: FormError
}

/** The page of a key, with its actions. */
export function KeyPage ({ csrf, apiKey: key, now, mayChange, lastDay, error }: KeyPageProps) {
  const condition = getKeyStatus(key, now)
  const canEnd = mayChange && isActive(condition)
  return (
    <>
      <Heading title={key.name}>
        {canEnd ? <a class='button' href={keyPath(key.keyId, 'rename')}>Rename</a> : ''}
        {canEnd && key.successor === undefined ? <a class='button' href={keyPath(key.keyId, 'roll')}>Roll</a> : ''}
        {canEnd ? <a class='button button-danger' href={keyPath(key.keyId, 'revoke')}>Revoke</a> : ''}
      </Heading>
      <ErrorNotice error={error} />
      <KeyFacts apiKey={key} now={now} />
      <p>
        <a href={auditPath(key.tenantId, { entity: key.keyId })}>Audit trail of this key</a>
        {' · '}
        <a href={keyPath(key.keyId, 'propagation')}>State on each gateway</a>
      </p>
      {canEnd ? <ExpiryForm csrf={csrf} keyId={key.keyId} now={now} lastDay={lastDay} error={error} /> : ''}
    </>
  )
}

function KeyFacts ({ apiKey: key, now }: { readonly apiKey: Key, readonly now: Date }) {
  return (
    <dl class='facts'>
      <DescriptionItem name='State'>
        <KeyStatusBadge condition={getKeyStatus(key, now)} />
        {key.revokedAt === undefined
          ? ''
          : (
            <span>
              {' '}
              <Time at={key.revokedAt} />
            </span>
            )}
        {key.successor === undefined
          ? ''
          : (
            <span>
              {' '}
              replaced by <a href={keyPath(key.successor)}>a new key</a>
            </span>
            )}
      </DescriptionItem>
      <DescriptionItem name='Mode'><Badge tone={key.mode} text={key.mode} /></DescriptionItem>
      <DescriptionItem name='Scopes'><span safe>{formatScopes(key.scopes)}</span></DescriptionItem>
      <DescriptionItem name='Secret'>
        <code safe>{`svc_${key.mode}_…${key.hint}`}</code>
      </DescriptionItem>
      <DescriptionItem name='Created'>
        <Time at={key.createdAt} /> by <ActorName actor={key.createdBy} />
      </DescriptionItem>
      <DescriptionItem name='Last used'>
        <OptionalTime at={key.lastUsedAt} otherwise='never' />
      </DescriptionItem>
      <DescriptionItem name='Expires'>
        <OptionalTime at={key.expiresAt} otherwise='never' />
      </DescriptionItem>
      <DescriptionItem name='Key id'>
        <Copyable text={key.keyId} label='the key id' />
      </DescriptionItem>
    </dl>
  )
}

function ExpiryForm ({
  csrf,
  keyId,
  now,
  lastDay,
  error
}: Pick<KeyPageProps, 'csrf' | 'now' | 'lastDay' | 'error'> & { readonly keyId: string }) {
  return (
    <section>
      <h2>Set a last day</h2>
      <PostForm action={keyPath(keyId)} csrf={csrf}>
        <TextField
          label='Last day'
          name='lastDay'
          type='date'
          value={lastDay}
          isRequired
          min={now.toISOString().slice(0, 10)}
          hint='It works until the end of this day (UTC).'
          error={error}
        />
        <SubmitButton label='Set last day' />
      </PostForm>
    </section>
  )
}
