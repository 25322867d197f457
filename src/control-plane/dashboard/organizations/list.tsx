import type { Plan, Plans } from '../../../config/schema.js'
import type { Organization } from '../../store/organizations.js'
import { Badge, Empty, Heading, Table, Time, type Columns } from '../components.js'
import { PaginatedList, type ListOptions } from '../listing.js'
import { mayHaveOverage } from './plans.js'
import { home, organizationPath } from '../paths.js'

/** An organization in the operators' list; `keys` counts those that open something. */
interface ListedOrganization extends Organization {
  readonly keys: number
}

/** The content of the list. */
interface OrganizationsPageOptions {
  readonly listing: ListOptions<ListedOrganization>
  readonly plans: Plans
}

/** All organizations, for operators. */
export function OrganizationsPage ({ listing, plans }: OrganizationsPageOptions) {
  const path = `${home}/organizations`
  return (
    <>
      <Heading title='Organizations' about='The customers of this service. None can read another one’s records.'>
        <a class='button button-primary' href={`${home}/organizations/new`}>New organization</a>
      </Heading>
      <PaginatedList listing={listing} path={path} what='Name or tenant id' empty={<NoOrganization />}>
        <Table label='Organizations' columns={buildColumns(plans)} rows={listing.rows} />
      </PaginatedList>
    </>
  )
}

function NoOrganization () {
  return (
    <Empty title='No organization yet'>
      <p>
        An organization is a customer with its plan, its keys and its people. Make the first one, then make a key for
        it.
      </p>
      <p>
        <a class='button' href={`${home}/organizations/new`}>Make an organization</a>
      </p>
    </Empty>
  )
}

const buildColumns = (plans: Plans): Columns<ListedOrganization> => [
  { name: 'Organization', cell: ({ tenantId, name }) => <a href={organizationPath(tenantId)} safe>{name}</a> },
  { name: 'Plan', cell: ({ plan }) => <span safe>{plan}</span> },
  { name: 'Overage', cell: ({ overage, plan }) => <Overage isOn={overage} plan={plans[plan]} /> },
  { name: 'Keys', kind: 'number', cell: ({ keys }) => <span>{keys}</span> },
  { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> }
]

function Overage ({ isOn, plan }: { readonly isOn: boolean, readonly plan: Plan | undefined }) {
  if (!mayHaveOverage(plan)) return <span class='quiet'>none</span>
  return isOn ? <Badge tone='neutral' text='on' /> : <span class='quiet'>off</span>
}
