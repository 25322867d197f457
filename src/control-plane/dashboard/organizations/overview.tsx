import type { Plan, Plans } from '../../../config/schema.js'
import type { Organization } from '../../store/organizations.js'
import type { UsageTotal } from '../../store/usage-totals.js'
import { QuotaMeter } from '../usage/quota.js'
import { Badge, Copyable, DescriptionItem, Heading, Time, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { NameField, PostForm, SelectField, SubmitButton, TextField } from '../forms.js'
import { formatQuantity, formatCount } from '../format.js'
import { mayHaveOverage, toPlanOptions, formatPlan } from './plans.js'
import { organizationPath } from '../paths.js'

/** The content of the overview of an organization. */
interface Overview {
  readonly csrf: string
  readonly organization: Organization
  /** Undefined where the configuration no longer has it. */
  readonly plan: Plan | undefined
  readonly plans: Plans
  /** Names of the datastores of its test and live keys; undefined where a dedicated one is missing. */
  readonly datastores: { readonly test: string, readonly live: string | undefined }
  readonly today: UsageTotal
  readonly month: UsageTotal
  readonly now: Date
  readonly hasKeys: boolean
  /** Whether the service switched off one of its webhooks. */
  readonly hasDisabledWebhook: boolean
  readonly mayChange: boolean
  readonly isOperator: boolean
  /** The values of the form. */
  readonly typed: Settings
  /** The values that the form was first shown with. */
  readonly before: Settings
  readonly error?: FormError
}

type Settings = Pick<Organization, 'name' | 'plan' | 'datastore'>

/** The name of the hidden field with a setting's previous value, so that only edited fields are changed. */
export const toPreviousValueField = (name: string): string => `${name}-before`

/** An organization at a glance. */
export function OverviewPage (overview: Overview) {
  const { organization, hasKeys, isOperator, mayChange, error } = overview
  return (
    <>
      <Heading title='Overview' />
      <ErrorNotice error={error} />
      {overview.hasDisabledWebhook ? <DisabledWebhook tenantId={organization.tenantId} /> : ''}
      {hasKeys ? '' : <NextSteps tenantId={organization.tenantId} mayChange={mayChange} />}
      <UsageAtAGlance {...overview} />
      <Facts {...overview} />
      <Overage {...overview} />
      {isOperator ? <ChangeForm {...overview} /> : ''}
    </>
  )
}

function DisabledWebhook ({ tenantId }: { readonly tenantId: string }) {
  return (
    <section class='notice notice-warning'>
      <p>
        <strong>A webhook was switched off</strong>, since its receiver did not take the events. They wait:{' '}
        <a href={organizationPath(tenantId, 'webhooks')}>see the webhooks</a>.
      </p>
    </section>
  )
}

function NextSteps ({ tenantId, mayChange }: { readonly tenantId: string, readonly mayChange: boolean }) {
  return (
    <section class='empty'>
      <h2>No keys yet</h2>
      {mayChange
        ? (
          <>
            <ol>
              <li>Create a <strong>test</strong> key. It opens test records only.</li>
              <li>Send a first request with the command that is shown with the key.</li>
              <li>Invite the people who manage your keys.</li>
            </ol>
            <div class='actions'>
              <a class='button button-primary' href={organizationPath(tenantId, 'keys/new')}>Create a key</a>
              <a class='button' href={organizationPath(tenantId, 'members')}>Invite people</a>
            </div>
          </>
          )
        : <p>Applications need a key to send requests. Ask an admin of your organization to create one.</p>}
    </section>
  )
}

function UsageAtAGlance ({ organization, plan, today, month, now }: Overview) {
  const allowance = plan?.requestsPerMonth ?? undefined
  return (
    <section>
      <h2>Usage of live keys</h2>
      <div class='figures'>
        <Figure label='Today' total={today} />
        <Figure label='This month' total={month} />
      </div>
      {allowance === undefined
        ? ''
        : (
          <QuotaMeter
            counted={month.counted}
            overage={month.overage}
            allowance={allowance}
            allowsOverage={plan!.overage && organization.overage}
            now={now}
          />
          )}
      <p>
        <a href={organizationPath(organization.tenantId, 'usage')}>Usage by day, key and resource</a>
      </p>
    </section>
  )
}

function Figure ({ label, total }: { readonly label: string, readonly total: UsageTotal }) {
  const errors = `${formatQuantity(total.errors + total.failed, 'error')}, ${formatCount(total.refused)} refused`
  return (
    <div class='figure'>
      <span class='figure-label' safe>{label}</span>
      <span class='figure-number' safe>{formatCount(total.requests)}</span>
      <span class='quiet' safe>{errors}</span>
    </div>
  )
}

function Facts ({ organization, plan, datastores }: Overview) {
  const { tenantId, createdAt } = organization
  return (
    <section>
      <h2>Organization</h2>
      <dl class='facts'>
        <DescriptionItem name='Tenant id'>
          <Copyable text={tenantId} label='the tenant id' />
        </DescriptionItem>
        <DescriptionItem name='Plan'>
          <span safe>{organization.plan}</span>
          <span class='hint' safe>
            {plan === undefined ? 'This plan is no longer configured, so requests are refused.' : formatPlan(plan)}
          </span>
        </DescriptionItem>
        <DescriptionItem name='Datastore of test keys'>
          <span safe>{datastores.test}</span>
        </DescriptionItem>
        <DescriptionItem name='Datastore of live keys'>
          {datastores.live === undefined
            ? <Badge tone='bad' text='none is configured: live requests are refused' />
            : <span safe>{datastores.live}</span>}
        </DescriptionItem>
        <DescriptionItem name='Created'><Time at={createdAt} /></DescriptionItem>
      </dl>
    </section>
  )
}

function Overage ({ csrf, organization, plan, mayChange }: Overview) {
  if (!mayHaveOverage(plan)) return ''
  const { overage, tenantId } = organization
  return (
    <section>
      <h2>
        Overage <Badge tone={overage ? 'good' : 'neutral'} text={overage ? 'on' : 'off'} />
      </h2>
      <p>
        {overage
          ? 'Live requests beyond the month’s allowance are served and billed.'
          : 'Live requests beyond the month’s allowance are refused until the next month.'}
      </p>
      {mayChange
        ? (
          <PostForm action={organizationPath(tenantId, 'overage')} csrf={csrf} inline>
            <input type='hidden' name='overage' value={overage ? 'off' : 'on'} />
            <button type='submit' class='button'>
              {overage ? 'Switch overage off' : 'Switch overage on'}
            </button>
          </PostForm>
          )
        : ''}
    </section>
  )
}

function ChangeForm ({ csrf, organization, plans, typed, before, error }: Overview) {
  // Without a choice for it, the browser would choose the first of the others.
  const lost = Object.hasOwn(plans, typed.plan)
    ? []
    : [{ value: typed.plan, label: `${typed.plan} (no longer configured)` }]
  return (
    <section>
      <h2>Settings</h2>
      <PostForm action={organizationPath(organization.tenantId)} csrf={csrf}>
        {(['name', 'plan', 'datastore'] as const).map(name => (
          <input type='hidden' name={toPreviousValueField(name)} value={before[name] ?? ''} />
        ))}
        <NameField value={typed.name} error={error} />
        <SelectField
          label='Plan'
          name='plan'
          choices={[...lost, ...toPlanOptions(plans)]}
          value={typed.plan}
          error={error}
        />
        <TextField
          label='Dedicated datastore'
          name='datastore'
          value={typed.datastore}
          hint='For the enterprise plan: the name of a configured datastore. Leave it empty to use the gateways’ configuration.'
          maxLength={64}
          error={error}
        />
        <SubmitButton label='Save' />
      </PostForm>
    </section>
  )
}
