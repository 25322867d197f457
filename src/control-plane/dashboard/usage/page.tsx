import { addMonths, type Month } from '../../../limits/month.js'
import type { Mode } from '../../../config/mode.js'
import type { Key } from '../../store/keys.js'
import type { UsageTotal } from '../../store/usage-totals.js'
import { Empty, Heading } from '../components.js'
import { Chart } from './chart.js'
import { formatQuantity, formatCount, formatDay, formatMonth } from '../format.js'
import { keyPath, organizationPath } from '../paths.js'

/** The content of the usage page of an organization. */
interface UsageOfMonth {
  readonly tenantId: string
  readonly month: Month
  readonly thisMonth: Month
  readonly mode: Mode
  /** A total for each day, without a gap. */
  readonly days: readonly UsageTotal[]
  /** The most used first. */
  readonly keys: readonly UsageTotal[]
  readonly resources: readonly UsageTotal[]
  /** By id. */
  readonly known: ReadonlyMap<string, Pick<Key, 'name' | 'hint'>>
}

/** The usage of an organization's keys in a month. */
export function UsagePage (usage: UsageOfMonth) {
  const isEmpty = usage.days.every(({ requests }) => requests === 0)
  return (
    <>
      <Heading
        title='Usage'
        about='Requests sent with keys of this organization. Days begin at midnight UTC. The latest requests appear within seconds.'
      />
      <Choices {...usage} />
      {isEmpty ? <NoUse {...usage} /> : <Use {...usage} />}
      {usage.mode === 'live' && !isEmpty ? <Bill {...usage} /> : ''}
    </>
  )
}

function Choices ({ tenantId, month, thisMonth, mode }: UsageOfMonth) {
  const buildUsagePath = (requested: { readonly month?: Month; readonly mode?: Mode }) =>
    `${organizationPath(tenantId, 'usage')}?${new URLSearchParams({ month, mode, ...requested })}`
  return (
    <div class='choices'>
      <nav class='segmented' aria-label='Mode'>
        {(['live', 'test'] as const).map(one => (
          <a href={buildUsagePath({ mode: one })} aria-current={one === mode ? 'page' : undefined} safe>{`${one} keys`}</a>
        ))}
      </nav>
      <nav class='segmented' aria-label='Month'>
        <a href={buildUsagePath({ month: addMonths(month, -1) })} aria-label={`Earlier: ${formatMonth(addMonths(month, -1))}`}>
          ‹
        </a>
        <span class='segment' safe>
          {formatMonth(month)}
        </span>
        {month < thisMonth
          ? (
            <a href={buildUsagePath({ month: addMonths(month, 1) })} aria-label={`Later: ${formatMonth(addMonths(month, 1))}`}>
              ›
            </a>
            )
          : <span class='segment quiet' aria-hidden='true'>›</span>}
      </nav>
    </div>
  )
}

function Bill ({ tenantId, month }: UsageOfMonth) {
  const buildBillPath = (format: 'csv' | 'json') =>
    `${organizationPath(tenantId, 'bill')}?${new URLSearchParams({ month, format })}`
  return (
    <section>
      <h2>Bill</h2>
      <p>
        What live requests of this month cost, down to the hour: <a href={buildBillPath('csv')}>CSV</a>,{' '}
        <a href={buildBillPath('json')}>JSON</a>.
      </p>
    </section>
  )
}

function NoUse ({ tenantId, month, mode }: UsageOfMonth) {
  return (
    <Empty title={`No request with a ${mode} key in ${formatMonth(month)}`}>
      <p>Requests appear here within seconds. <a href={organizationPath(tenantId, 'keys')}>See the keys</a>.</p>
    </Empty>
  )
}

function Use (usage: UsageOfMonth) {
  const { mode, month, days, keys, resources, known } = usage
  const total = days.reduce(
    (sum, day) => ({
      requests: sum.requests + day.requests,
      errors: sum.errors + countErrors(day),
      refused: sum.refused + day.refused
    }),
    { requests: 0, errors: 0, refused: 0 }
  )
  const sentence = `${formatQuantity(total.requests, 'request')} with ${mode} keys in ${formatMonth(month)}: ${formatQuantity(total.errors, 'error')}, ${formatCount(total.refused)} refused.`
  return (
    <>
      <p class='summary' safe>{sentence}</p>
      <DayChart days={days} title={`Requests by day, ${formatMonth(month)}`} description={sentence} />
      <section>
        <h2>By day</h2>
        <CountTable
          label='Requests by day'
          first='Day'
          rows={days.filter(({ requests }) => requests > 0).map(day => ({ name: formatDay(day.from), total: day }))}
        />
        <p class='hint'>
          Days without requests are left out. Errors are answers with 400 or more; refused are those by scope, limit or
          quota.
        </p>
      </section>
      <UseBySubject keys={keys} resources={resources} known={known} />
    </>
  )
}

function UseBySubject ({ keys, resources, known }: Pick<UsageOfMonth, 'keys' | 'resources' | 'known'>) {
  return (
    <>
      <section>
        <h2>By key</h2>
        <CountTable
          label='Requests by key'
          first='Key'
          rows={keys.map(one => ({
            ...(known.get(one.of!) ?? { name: one.of! }),
            href: keyPath(one.of!),
            total: one
          }))}
        />
      </section>
      <section>
        <h2>By resource</h2>
        <p class='hint'>
          Names such as patients are those of simple JSON, names such as Patient those of raw FHIR and of the records
          of imports.
        </p>
        <CountTable
          label='Requests by resource'
          first='Resource'
          rows={resources.map(one => ({ name: one.of!, total: one }))}
        />
      </section>
    </>
  )
}

/** Errors of the client and failures of the service together. */
function countErrors ({ errors, failed }: UsageTotal): number {
  return errors + failed
}

function DayChart ({
  days,
  title,
  description
}: {
  readonly days: readonly UsageTotal[]
  readonly title: string
  readonly description: string
}) {
  const middle = Math.floor((days.length - 1) / 2)
  const bars = days.map(day => ({
    label: `${formatDay(day.from)}: ${formatCounts(day)}`,
    parts: [day.ok, countErrors(day), day.refused]
  }))
  return (
    <Chart
      id='by-day'
      title={title}
      description={description}
      parts={['answered', 'errors', 'refused']}
      bars={bars}
      axisLabels={[days[0]!, days[middle]!, days.at(-1)!].map(({ from }) => formatDay(from))}
    />
  )
}

function formatCounts (total: UsageTotal): string {
  return `${formatQuantity(total.requests, 'request')}, ${formatQuantity(countErrors(total), 'error')}, ${formatCount(total.refused)} refused`
}

interface CountRow {
  readonly name: string
  /** The last characters of a key's secret: keys may have one name, as those that were rolled do. */
  readonly hint?: string
  readonly href?: string
  readonly total: UsageTotal
}

function CountTable ({
  label,
  first,
  rows
}: {
  readonly label: string
  readonly first: string
  readonly rows: readonly CountRow[]
}) {
  return (
    <table class='counts' aria-label={label}>
      <thead>
        <tr>
          {[first, 'Requests', 'Errors', 'Refused'].map(column => <th scope='col' safe>{column}</th>)}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => <CountCells {...row} />)}
      </tbody>
    </table>
  )
}

function CountCells ({ name, hint, href, total }: CountRow) {
  return (
    <tr>
      <th scope='row'>
        {href === undefined
          ? <span safe>{name}</span>
          : <a href={href} safe>{name}</a>}
        {hint === undefined
          ? ''
          : (
            <>
              {' '}
              <code class='beneath' safe>{`…${hint}`}</code>
            </>
            )}
      </th>
      {[total.requests, countErrors(total), total.refused].map(count => <td safe>{formatCount(count)}</td>)}
    </tr>
  )
}
