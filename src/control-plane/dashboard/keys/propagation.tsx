import type { KeyPropagation } from '../../store/gateway-store.js'
import type { Key } from '../../store/keys.js'
import { Badge, Empty, Heading, Table, Time, type Columns } from '../components.js'
import { formatDuration } from '../format.js'
import { keyPath } from '../paths.js'

/** On which gateways the latest change of a key is in force. */
export function PropagationPage ({ apiKey: key, reach }: { readonly apiKey: Key, readonly reach: KeyPropagation }) {
  const changeText = key.revokedAt === undefined ? 'The latest change of' : 'The revocation of'
  return (
    <>
      <Heading title={key.revokedAt === undefined ? `“${key.name}” on each gateway` : `“${key.name}” is revoked`} />
      <p>{changeText} this key was made <Time at={reach.changedAt} />.</p>
      {reach.gateways.length === 0 ? <NoGateway /> : <Table label='Gateways' columns={columns} rows={reach.gateways} />}
      <div class='actions'>
        {isPending(reach) ? <a class='button button-primary' href={keyPath(key.keyId, 'propagation')}>Refresh</a> : ''}
        <a class='button' href={keyPath(key.keyId)}>Back to the key</a>
      </div>
    </>
  )
}

/** Whether a connected gateway has not applied the change yet. */
export function isPending ({ gateways }: KeyPropagation): boolean {
  return gateways.some(({ isConnected, isReached }) => isConnected && !isReached)
}

function NoGateway () {
  return (
    <Empty title='No gateway has connected yet'>
      <p>A gateway applies the change when it connects, before it serves requests.</p>
    </Empty>
  )
}

type GatewayReach = KeyPropagation['gateways'][number]

const columns: Columns<GatewayReach> = [
  { name: 'Gateway', cell: ({ name }) => <span safe>{name}</span> },
  { name: 'State', cell: reach => <ReachBadge {...reach} /> },
  {
    name: 'In force after',
    cell: ({ afterMs }) => <span safe>{afterMs === undefined ? 'not measured' : formatDuration(afterMs)}</span>
  }
]

function ReachBadge ({ isConnected, isReached }: Pick<GatewayReach, 'isConnected' | 'isReached'>) {
  if (isReached) return <Badge tone='good' text='in force' />
  return isConnected
    ? <Badge tone='warning' text='not yet in force' />
    : <Badge tone='bad' text='disconnected, not yet in force' />
}
