import type { Key } from '../../control/keys.js'
import { Badge, Cell, Empty, Heading, Row, Table, Time, TimeOr } from '../elements.js'
import { conditionBadges, conditionOf, isGood, scopesText, type KeyCondition } from './state.js'
import { keyPath, organizationPath } from '../paths.js'

/** What the list of an organization's keys shows. */
interface KeyList {
  readonly tenantId: string
  /** Newest first. */
  readonly keys: readonly Key[]
  readonly now: Date
  readonly mayChange: boolean
}

/** The keys of an organization; those that open nothing any more come last. */
export function KeysPage ({ tenantId, keys, now, mayChange }: KeyList) {
  const judged = keys.map(key => ({ key, condition: conditionOf(key, now) }))
  const good = judged.filter(({ condition }) => isGood(condition))
  const ended = judged.filter(({ condition }) => !isGood(condition))
  return (
    <>
      <Heading title='Keys' about='Applications show a key with each request.'>
        {mayChange ? <a class='button button-primary' href={organizationPath(tenantId, 'keys/new')}>New key</a> : ''}
      </Heading>
      {good.length === 0 ? <NoKey tenantId={tenantId} mayChange={mayChange} /> : <KeyTable label='Keys' judged={good} />}
      {ended.length === 0 ? '' : <Ended judged={ended} />}
    </>
  )
}

function NoKey ({ tenantId, mayChange }: Pick<KeyList, 'tenantId' | 'mayChange'>) {
  return (
    <Empty title='No key that works'>
      <p>An application needs a key to send requests. A test key opens records for trying out, a live key opens real ones.</p>
      {mayChange
        ? <p><a class='button' href={organizationPath(tenantId, 'keys/new')}>Make a key</a></p>
        : <p>Ask an admin of your organization to make one.</p>}
    </Empty>
  )
}

interface Judged { readonly key: Key, readonly condition: KeyCondition }

function Ended ({ judged }: { readonly judged: readonly Judged[] }) {
  return (
    <section>
      <h2>Keys that ended</h2>
      <KeyTable label='Keys that ended' judged={judged} />
    </section>
  )
}

const columns = ['Name', 'State', 'Mode', 'Scopes', 'Created', 'Last used', 'Expires'] as const

function KeyTable ({ label, judged }: { readonly label: string, readonly judged: readonly Judged[] }) {
  return (
    <Table label={label} columns={columns}>
      {judged.map(({ key, condition }) => (
        <Row>
          <Cell of='Name'><div><a href={keyPath(key.keyId)} safe>{key.name}</a><code class='beneath' safe>{`…${key.hint}`}</code></div></Cell>
          <Cell of='State'><Condition condition={condition} /></Cell>
          <Cell of='Mode'><Badge tone={key.mode} text={key.mode} /></Cell>
          <Cell of='Scopes'><span safe>{scopesText(key.scopes)}</span></Cell>
          <Cell of='Created'><Time at={key.createdAt} /></Cell>
          <Cell of='Last used'><TimeOr at={key.lastUsedAt} otherwise='never' /></Cell>
          <Cell of='Expires'><TimeOr at={key.expiresAt} otherwise='never' /></Cell>
        </Row>
      ))}
    </Table>
  )
}

/** How a key is, as a badge. */
export function Condition ({ condition }: { readonly condition: KeyCondition }) {
  return <Badge {...conditionBadges[condition]} />
}
