import type { Organization } from '../control/organizations.js'
import { Badge, Cell, Empty, Heading, Row, Table, Time } from './elements.js'
import { home, organizationPath } from './paths.js'

/** An organization in the operators' list; `keys` counts those that open something. */
export interface ListedOrganization extends Organization {
  readonly keys: number
}

/** All organizations, for operators. */
export function OrganizationsPage ({ organizations }: { readonly organizations: readonly ListedOrganization[] }) {
  const isEmpty = organizations.length === 0
  return (
    <>
      <Heading title='Organizations' about='The customers of this service. No key of one reads another one’s records.'>
        <a class='button button-primary' href={`${home}/organizations/new`}>New organization</a>
      </Heading>
      {isEmpty ? <NoOrganization /> : <Organizations organizations={organizations} />}
    </>
  )
}

function NoOrganization () {
  return (
    <Empty title='No organization yet'>
      <p>An organization is a customer with its plan, its keys and its people. Make the first one, then make a key for it.</p>
      <p><a class='button' href={`${home}/organizations/new`}>Make an organization</a></p>
    </Empty>
  )
}

const columns = ['Organization', 'Plan', 'Overage', 'Keys', 'Created'] as const

function Organizations ({ organizations }: { readonly organizations: readonly ListedOrganization[] }) {
  return (
    <Table label='Organizations' columns={columns}>
      {organizations.map(({ tenantId, name, plan, overage, keys, createdAt }) => (
        <Row>
          <Cell of='Organization'><a href={organizationPath(tenantId)} safe>{name}</a></Cell>
          <Cell of='Plan'><span safe>{plan}</span></Cell>
          <Cell of='Overage'>{overage ? <Badge tone='neutral' text='on' /> : <span class='quiet'>off</span>}</Cell>
          <Cell of='Keys' kind='number'>{keys}</Cell>
          <Cell of='Created'><Time at={createdAt} /></Cell>
        </Row>
      ))}
    </Table>
  )
}
