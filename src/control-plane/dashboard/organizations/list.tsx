import type { Plan, Plans } from '../../../config/schema.js'
import type { Organization } from '../../store/organizations.js'
import { Badge, Cell, Empty, Heading, Row, Table, Time } from '../components.js'
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
export function OrganizationsPage (options: OrganizationsPageOptions) {
  const { listing } = options
  const path = `${home}/organizations`
  return (
    <>
      <Heading title='Organizations' about='The customers of this service. None can read another one’s records.'>
        <a class='button button-primary' href={`${home}/organizations/new`}>New organization</a>
      </Heading>
      <PaginatedList listing={listing} path={path} what='Name or tenant id' empty={<NoOrganization />}>
        <Organizations {...options} />
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

const columns = ['Organization', 'Plan', 'Overage', 'Keys', 'Created'] as const

function Organizations ({ listing, plans }: OrganizationsPageOptions) {
  return (
    <Table label='Organizations' columns={columns}>
      {listing.rows.map(({ tenantId, name, plan, overage, keys, createdAt }) => (
        <Row>
          <Cell of='Organization'><a href={organizationPath(tenantId)} safe>{name}</a></Cell>
          <Cell of='Plan'><span safe>{plan}</span></Cell>
          <Cell of='Overage'><Overage isOn={overage} plan={plans[plan]} /></Cell>
          <Cell of='Keys' kind='number'>{keys}</Cell>
          <Cell of='Created'><Time at={createdAt} /></Cell>
        </Row>
      ))}
    </Table>
  )
}

function Overage ({ isOn, plan }: { readonly isOn: boolean, readonly plan: Plan | undefined }) {
  if (!mayHaveOverage(plan)) return <span class='quiet'>none</span>
  return isOn ? <Badge tone='neutral' text='on' /> : <span class='quiet'>off</span>
}
