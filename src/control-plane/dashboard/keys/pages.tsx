import { setTimeout as pause } from 'node:timers/promises'
import type { ControlService } from '../../store/control-service.js'
import type { KeyPropagation } from '../../store/gateway-store.js'
import type { Key } from '../../store/keys.js'
import { ControlError } from '../../store/control-error.js'
import type { Mode } from '../../../config/mode.js'
import { Badge, ErrorNotice, Heading, OptionalTime } from '../components.js'
import {
  fetchPageFacts, organizationPageBase, definePage, type DeclaredPage, type PageRequest
} from '../declared-page.js'
import { endOfLastDay, readField, type FormError } from '../form.js'
import { NameField, PostForm, SubmitButton } from '../forms.js'
import type { DashboardContext } from '../options.js'
import type { PageFacts } from '../page.js'
import { keyPath, organizationPath } from '../paths.js'
import { paginateKeys, KeysPage } from './list.js'
import { NewKeyPage, readResourceChoice, readScopes } from './new.js'
import { KeyPage } from './page.js'
import { isPending, PropagationPage } from './propagation.js'
import { overlaps, RollPage, SecretPage } from './secret.js'

/** The pages of keys. */
export const keyPages = (parts: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    ...organizationPageBase,
    path: '/organizations/:tenantId/keys',
    title: 'Keys',
    show: async ({ subject: { tenantId }, request: { controlService, query }, mayChange }) => {
      const keys = await controlService.listKeys(tenantId)
      const listing = paginateKeys(keys.reverse(), parts.now(), query)
      return <KeysPage tenantId={tenantId} listing={listing} mayChange={mayChange} />
    }
  }),
  newKeyPage(parts),
  definePage({
    ...keyPageBase,
    path: '/keys/:keyId',
    title: ({ name }) => name,
    show: ({ subject, csrf, mayChange, typed, error }) => (
      <KeyPage
        csrf={csrf}
        apiKey={subject}
        now={parts.now()}
        mayChange={mayChange}
        lastDay={typed?.('lastDay')}
        error={error}
      />
    ),
    actions: [{ run: expire, redisplayOn: 'invalid or conflict' }]
  }),
  ...keyChangePages(parts),
  definePage({
    ...keyPageBase,
    path: '/keys/:keyId/propagation',
    title: 'State on each gateway',
    show: async ({ subject, request: { controlService } }) =>
      <PropagationPage apiKey={subject} reach={await fetchSettledPropagation(controlService, subject.keyId)} />
  })
]

/** The common parts of the pages about a key. */
const keyPageBase = {
  load: ({ controlService, params }: PageRequest): Promise<Key> => controlService.findKey(params.keyId),
  facts: ({ tenantId }: Pick<Key, 'tenantId'>, request: PageRequest): Promise<PageFacts> =>
    fetchPageFacts(organizationPath(tenantId, 'keys'), tenantId, request)
}

function newKeyPage ({ now, gatewayUrl }: DashboardContext): DeclaredPage<any> {
  return definePage({
    ...organizationPageBase,
    path: '/organizations/:tenantId/keys/new',
    role: 'admin',
    title: 'New key',
    show: ({ subject: { tenantId }, request, csrf, once, typed, error }) => (
      <NewKeyPage
        csrf={csrf}
        once={once}
        tenantId={tenantId}
        now={now()}
        error={error}
        name={typed?.('name')}
        mode={typed?.('mode')}
        scopes={typed?.('scopes')}
        resources={typed && readResourceChoice(request.body)}
        lastDay={typed?.('lastDay')}
      />
    ),
    actions: [{
      redisplayOn: 'invalid',
      run: async ({ controlService, body }, organization) => {
        const [name, mode, scopes] = [readField(body, 'name'), readField(body, 'mode') as Mode, readScopes(body)]
        const expiresAt = endOfLastDay(readField(body, 'lastDay'))
        const { tenantId } = organization
        const draft = { tenantId, name, mode, scopes, expiresAt, once: readField(body, 'once') }
        const { keyId, secret } = await controlService.createKey(draft)
        const made = { keyId, name: name.trim(), mode, scopes, secret, gatewayUrl }
        return { title: 'Key created', content: <SecretPage {...made} />, facts: { organization } }
      }
    }]
  })
}

/** The changes of a key that have a page of their own. */
const keyChangePages = ({ gatewayUrl }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    ...keyPageBase,
    path: '/keys/:keyId/rename',
    role: 'admin',
    title: 'Rename key',
    show: ({ subject, csrf, typed, error }) =>
      <RenamePage csrf={csrf} apiKey={subject} name={typed?.('name')} error={error} />,
    actions: [{
      redisplayOn: 'invalid or conflict',
      run: async ({ controlService, body }, key) => {
        const { keyId } = await controlService.changeKey(key.keyId, { name: readField(body, 'name') })
        return { to: keyPath(keyId), message: 'Key renamed.' }
      }
    }]
  }),
  definePage({
    ...keyPageBase,
    path: '/keys/:keyId/roll',
    role: 'admin',
    title: 'Roll key',
    show: ({ subject, csrf }) => <RollPage csrf={csrf} apiKey={subject} />,
    actions: [{
      run: async (request, key) => {
        const overlap = parseOverlapMs(readField(request.body, 'overlap'))
        const { keyId, secret, previous } = await request.controlService.rollKey(key.keyId, overlap)
        const { name, mode, scopes } = previous
        const expiresAt = previous.revokedAt === undefined ? previous.expiresAt : undefined
        const rolled = { keyId: previous.keyId, expiresAt }
        const content = <SecretPage {...{ keyId, name, mode, scopes, secret, gatewayUrl, previous: rolled }} />
        return { title: 'Key rolled', content, facts: await keyPageBase.facts(previous, request) }
      }
    }]
  }),
  definePage({
    ...keyPageBase,
    path: '/keys/:keyId/revoke',
    role: 'admin',
    title: 'Revoke key',
    show: ({ subject, csrf }) => <RevokePage csrf={csrf} apiKey={subject} />,
    actions: [{
      run: async ({ controlService }, key) => {
        const { keyId } = await controlService.revokeKey(key.keyId)
        return { to: keyPath(keyId, 'propagation') }
      }
    }]
  })
]

/** A choice that is not offered is no time at all, which the control plane refuses. */
function parseOverlapMs (choice: string): number {
  return Object.hasOwn(overlaps, choice) ? overlaps[choice]!.ms : NaN
}

async function expire ({ controlService, body }: PageRequest, key: Key) {
  const end = endOfLastDay(readField(body, 'lastDay'))
  if (end === undefined) throw new ControlError('invalid', 'Choose the last day of the key.', 'expiresAt')
  const { keyId } = await controlService.changeKey(key.keyId, { expiresAt: end })
  return { to: keyPath(keyId), message: 'Last day set.' }
}

/** Gateways apply a change within a second, so that a page requested immediately afterwards shows the final state. */
async function fetchSettledPropagation (controlService: ControlService, keyId: string): Promise<KeyPropagation> {
  let reach = await controlService.getKeyPropagation(keyId)
  for (let looks = 0; looks < 20 && isPending(reach); looks++) {
    await pause(75)
    reach = await controlService.getKeyPropagation(keyId)
  }
  return reach
}

interface RenameForm {
  readonly csrf: string
  readonly apiKey: Key
  /** The text from the previous submission. */
  readonly name?: string
  readonly error?: FormError
}

/** The form that renames a key. */
function RenamePage ({ csrf, apiKey: key, name = key.name, error }: RenameForm) {
  return (
    <>
      <Heading title={`Rename “${key.name}”`} about='Its secret stays the same, and applications notice nothing.' />
      <ErrorNotice error={error} />
      <PostForm action={keyPath(key.keyId, 'rename')} csrf={csrf}>
        <NameField value={name} error={error} />
        <SubmitButton label='Rename key' cancel={keyPath(key.keyId)} />
      </PostForm>
    </>
  )
}

/** The confirmation page for revoking a key. */
function RevokePage ({ csrf, apiKey: key }: { readonly csrf: string, readonly apiKey: Key }) {
  return (
    <>
      <Heading title={`Revoke “${key.name}”?`} />
      <p>
        <Badge tone={key.mode} text={key.mode} />{' '}
        Secret <code safe>{`…${key.hint}`}</code>, last used: <OptionalTime at={key.lastUsedAt} otherwise='never' />
      </p>
      <p>All gateways refuse it within a second. This cannot be undone.</p>
      <PostForm action={keyPath(key.keyId, 'revoke')} csrf={csrf}>
        <SubmitButton label='Revoke key' cancel={keyPath(key.keyId)} isDangerous />
      </PostForm>
    </>
  )
}
