import type { FastifyRequest } from 'fastify'
import type { Config, Plans } from '../../../config/schema.js'
import { startOfMonth, toMonth } from '../../../limits/month.js'
import type { Organization } from '../../store/organizations.js'
import type { UsageTotal } from '../../store/usage-totals.js'
import { organizationPageBase, definePage, type DeclaredPage, type PageRequest } from '../declared-page.js'
import { readField, type FormError } from '../form.js'
import { paginate } from '../listing.js'
import type { DashboardContext } from '../options.js'
import { organizationPath, home } from '../paths.js'
import { OrganizationsPage } from './list.js'
import { toPreviousValueField, OverviewPage } from './overview.js'
import { Heading, ErrorNotice } from '../components.js'
import { NameField, PostForm, RadioField, SubmitButton } from '../forms.js'
import { toPlanOptions } from './plans.js'

/** The pages of organizations: the list and the form for operators, the overview for their people. */
export const organizationPages = (parts: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    path: '/organizations',
    redirectTo: ({ member }) => member.tenantId && organizationPath(member.tenantId),
    title: 'Organizations',
    show: async ({ request: { controlService, query } }) => {
      const [organizations, counts] = await Promise.all([
        controlService.listOrganizations(),
        controlService.countActiveKeys()
      ])
      const listed = organizations.map(one => ({ ...one, keys: counts.get(one.tenantId) ?? 0 }))
      const listing = paginate(listed, ({ name, tenantId }) => [name, tenantId], query)
      return <OrganizationsPage plans={parts.plans} listing={listing} />
    }
  }),
  newOrganizationPage(parts),
  overviewPage(parts)
]

const newOrganizationPage = ({ plans }: DashboardContext): DeclaredPage<any> => definePage({
  path: '/organizations/new',
  role: 'operator',
  title: 'New organization',
  show: ({ csrf, once, typed, error }) => (
    <NewOrganizationPage
      csrf={csrf}
      once={once}
      plans={plans}
      name={typed?.('name')}
      plan={typed?.('plan')}
      error={error}
    />
  ),
  actions: [{
    redisplayOn: 'invalid',
    run: async ({ controlService, body }) => {
      const { tenantId, name } = await controlService.createOrganization({
        name: readField(body, 'name'),
        plan: readField(body, 'plan'),
        once: readField(body, 'once')
      })
      return { to: organizationPath(tenantId), message: `Organization “${name}” created.` }
    }
  }]
})

const overviewPage = (parts: DashboardContext): DeclaredPage<any> => definePage({
  ...organizationPageBase,
  path: '/organizations/:tenantId',
  title: 'Overview',
  show: async ({ subject, request, csrf, mayChange, error }) => (
    <OverviewPage
      {...await fetchOverview(subject, request, parts)}
      csrf={csrf}
      mayChange={mayChange}
      typed={error === undefined ? subject : readOrganizationForm(request)}
      before={error === undefined ? subject : readOrganizationForm(request, toPreviousValueField)}
      error={error}
    />
  ),
  actions: [
    { role: 'operator', redisplayOn: 'invalid or conflict', run: change },
    {
      at: '/overage',
      run: async ({ controlService, body }, { tenantId }) => {
        const isOn = readField(body, 'overage') === 'on'
        const { overage } = await controlService.changeOrganization(tenantId, { overage: isOn })
        return { to: organizationPath(tenantId), message: overage ? 'Overage is on.' : 'Overage is off.' }
      }
    }
  ]
})

/** The content of an organization's overview. */
async function fetchOverview (
  organization: Organization,
  { controlService, member }: PageRequest,
  { plans, now, routing }: DashboardContext
) {
  const { tenantId, plan } = organization
  const [keys, use, webhooks] = await Promise.all([
    controlService.listKeys(tenantId),
    fetchCurrentUsage({ controlService }, tenantId, now()),
    controlService.listWebhooks(tenantId)
  ])
  return {
    organization,
    plans,
    plan: Object.hasOwn(plans, plan) ? plans[plan] : undefined,
    datastores: resolveDatastores(organization, routing),
    ...use,
    now: now(),
    hasKeys: keys.length > 0,
    hasDisabledWebhook: webhooks.some(({ disabledReason }) => disabledReason !== undefined),
    isOperator: member.role === 'operator'
  }
}

/** The requests of live keys today and in this month, in UTC. */
async function fetchCurrentUsage (
  { controlService }: Pick<FastifyRequest, 'controlService'>,
  tenantId: string,
  now: Date
): Promise<{ readonly today: UsageTotal; readonly month: UsageTotal }> {
  const day = new Date(`${now.toISOString().slice(0, 10)}T00:00:00Z`)
  const to = new Date(now.getTime() + 1)
  const [today, month] = await Promise.all(
    [day, startOfMonth(toMonth(now.toISOString()))].map(
      async from => (await controlService.getUsage({ tenantId, mode: 'live', from, to })).totals[0]!
    )
  )
  return { today: today!, month: month! }
}

/** The values in the form, or with the other names its previous values. */
function readOrganizationForm (
  { body }: Pick<FastifyRequest, 'body'>,
  toFieldName = (name: string): string => name
): { readonly name: string; readonly plan: string; readonly datastore: string } {
  const read = (name: string) => readField(body, toFieldName(name))
  return { name: read('name'), plan: read('plan'), datastore: read('datastore').trim() }
}

/**
 * Changes only what differs from the form's previous values: all else may have been changed meanwhile by another
 * person, whose change must not be overwritten.
 */
async function change (request: PageRequest, { tenantId }: Organization) {
  const before = readOrganizationForm(request, toPreviousValueField)
  const differing = Object.entries(readOrganizationForm(request)).filter(
    ([name, value]) => value !== before[name as keyof typeof before]
  )
  const changes = Object.fromEntries(
    differing.map(([name, value]) => [name, name === 'datastore' && value === '' ? null : value])
  )
  if (differing.length > 0) await request.controlService.changeOrganization(tenantId, changes)
  return { to: organizationPath(tenantId), message: 'Saved.' }
}

/**
 * The names of the datastores that an organization's keys open; `live` is undefined where a dedicated one is missing,
 * as gateways see it that are configured like this process.
 */
function resolveDatastores (
  { tenantId, plan, datastore }: Organization,
  { test, live, dedicated }: Config['routing']
): { readonly test: string; readonly live: string | undefined } {
  if (plan !== 'enterprise') return { test, live }
  return { test, live: (Object.hasOwn(dedicated, tenantId) ? dedicated[tenantId] : undefined) ?? datastore }
}

/** The values of the form of a new organization. */
interface NewOrganizationForm {
  readonly csrf: string
  readonly once: string
  readonly plans: Plans
  readonly name?: string
  readonly plan?: string
  readonly error?: FormError
}

/** The form that makes an organization. */
function NewOrganizationPage ({ csrf, once, plans, name, plan, error }: NewOrganizationForm) {
  return (
    <>
      <Heading title='New organization' />
      <ErrorNotice error={error} />
      <PostForm action={`${home}/organizations/new`} csrf={csrf} once={once}>
        <NameField value={name} hint='The customer’s name. You can change it later.' error={error} />
        <RadioField label='Plan' name='plan' choices={toPlanOptions(plans)} value={plan} error={error} />
        <SubmitButton label='Create organization' cancel={`${home}/organizations`} />
      </PostForm>
    </>
  )
}
