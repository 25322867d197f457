import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { declarations, formatMetricsTable } from '../../src/observability/metrics/declarations.js'
import { withTables } from '../../src/config/documentation.js'
import { startMeasured } from './scrape.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Names of metrics in an expression of Prometheus; those of a histogram by the name of the whole. */
const findMetricNames = (text: string): string[] =>
  [...new Set(text.match(/\b(?:clinigate|nodejs|process)_[a-z0-9_]+/g) ?? [])].map(name =>
    name.replace(/_bucket$/, '')
  )

test('dashboard, alerts and page name only metrics that a running gateway has, and the page names all of its own', async t => {
  const { text } = await (await startMeasured(t)).scrape()
  const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!))
  const files = [
    'docker/observability/grafana-dashboard.json',
    'docker/observability/alerts.yaml',
    'docs/how-to/observe.md'
  ]
  for (const file of files) {
    const named = findMetricNames(read(file)).filter(name => !name.endsWith('_'))
    t.ok(named.length > 5, `${file} names metrics`)
    t.same(
      named.filter(name => !served.has(name)),
      [],
      file
    )
  }
  t.same([...served].filter(name => name.startsWith('clinigate_')).sort(), Object.keys(declarations).sort())
})

test('labels in dashboard and alerts are labels of a metric, or those that Prometheus adds', async t => {
  const known = new Set([
    ...Object.values(declarations).flatMap(({ labels }) => [...labels]),
    'instance',
    'le'
  ] as string[])
  const text = ['docker/observability/grafana-dashboard.json', 'docker/observability/alerts.yaml'].map(read).join('\n')
  const used = [...text.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(',').map(label => label.trim()))
  const matched = [...text.matchAll(/[{,](\w+)=~?\\?"/g)].map(([, label]) => label!)
  t.ok(used.length > 5 && matched.length > 5)
  t.same([...used, ...matched].filter(label => !known.has(label)), [])
})

test('the table of metrics in the documentation is derived from the declarations', async t => {
  const page = read('docs/how-to/observe.md')
  t.equal(page, withTables(page, { metrics: formatMetricsTable() }), 'run npm run docs')
})

test('every panel of the dashboard has a query, and every alert describes what to do', async t => {
  const { panels } = JSON.parse(read('docker/observability/grafana-dashboard.json')) as {
    panels: Array<{ type: string; targets?: unknown[] }>
  }
  t.same(panels.filter(({ type, targets }) => type !== 'row' && !targets?.length), [])
  const alerts = read('docker/observability/alerts.yaml').split('- alert: ').slice(1)
  t.ok(alerts.length > 10)
  t.same(alerts.filter(alert => !/expr: .+[^]*summary: .+\n\s+description: .{20}/.test(alert)), [])
})
