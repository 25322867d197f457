import type { Gateway } from '../store/gateway-store.js'
import { Badge, Empty, Heading, Table, Time, type Columns } from './components.js'
import { definePage, type DeclaredPage } from './declared-page.js'
import { formatQuantity } from './format.js'
import type { DashboardContext } from './options.js'
import { tokensPath } from './paths.js'

/** The page of the gateways. */
export const gatewayPages = ({ url }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    path: '/gateways',
    role: 'operator',
    title: 'Gateways',
    show: async ({ request: { controlService } }) =>
      <GatewaysPage gateways={await controlService.listGateways()} controlUrl={url} />
  })
]

/** The gateways that follow this control plane, for operators. */
function GatewaysPage ({
  gateways,
  controlUrl
}: {
  readonly gateways: readonly Gateway[]
  readonly controlUrl: string
}) {
  return (
    <>
      <Heading
        title='Gateways'
        about='Each gateway keeps a copy of the keys, and keeps serving applications while this control plane is down.'
      />
      {gateways.length === 0
        ? <NoGateway controlUrl={controlUrl} />
        : <Table label='Gateways' columns={columns} rows={gateways} />}
    </>
  )
}

function NoGateway ({ controlUrl }: { readonly controlUrl: string }) {
  return (
    <Empty title='No gateway has connected yet'>
      <ol>
        <li>
          <a href={tokensPath(undefined)}>Create a token</a> with the role gateway.
        </li>
        <li>
          Start a gateway with it, on any machine that reaches this one:
          <pre>
            <code
              safe
            >{`CONTROL_URL=${controlUrl} CLINIGATE_GATEWAY_TOKEN=cg_gateway_… npx clinigate start --role gateway`}
            </code>
          </pre>
        </li>
        <li>It appears here within seconds.</li>
      </ol>
    </Empty>
  )
}

const columns: Columns<Gateway> = [
  { name: 'Gateway', cell: ({ name }) => <span safe>{name}</span> },
  {
    name: 'State',
    cell: ({ isConnected }) =>
      isConnected ? <Badge tone='good' text='connected' /> : <Badge tone='bad' text='disconnected' />
  },
  { name: 'Last seen', cell: ({ seenAt }) => <Time at={seenAt} /> },
  { name: 'Changes behind', cell: ({ changesBehind }) => <Behind changes={changesBehind} /> },
  { name: 'Version', cell: ({ version }) => <span safe>{version}</span> },
  { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { name: 'Health', cell: ({ checks }) => <Checks checks={checks} /> }
]

function Behind ({ changes }: { readonly changes: number | undefined }) {
  if (changes === undefined) return <Badge tone='bad' text='follows another control plane' />
  return changes === 0 ? <span>none</span> : <Badge tone='warning' text={formatQuantity(changes, 'change')} />
}

function Checks ({ checks }: Pick<Gateway, 'checks'>) {
  return (
    <ul class='checks'>
      {Object.entries(checks).map(([name, state]) => (
        <li>
          <span safe>{name}</span> <Badge tone={state === 'ok' ? 'good' : 'bad'} text={state} />
        </li>
      ))}
    </ul>
  )
}
