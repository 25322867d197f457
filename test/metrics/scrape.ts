import type { Test } from 'tap'
import { findFreePort } from '../harness/free-port.js'
import { startGateway, type GatewaySettings, type TestGateway } from '../harness/gateway.js'

/** A gateway that is measured. */
interface MeasuredGateway extends TestGateway {
  /** The current metrics as Prometheus scrapes them. */
  readonly scrape: () => Promise<Scrape>
  readonly metricsUrl: string
}

/** All series of one scrape. */
interface Scrape {
  readonly text: string
  /**
   * The value of the one series with these labels, others aside; 0 where there is none, the sum where there are
   * several.
   */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number
  /** How many series the gateway's own metrics have. */
  readonly series: number
}

export async function startMeasured (t: Test, settings: GatewaySettings = {}): Promise<MeasuredGateway> {
  const port = await findFreePort()
  const gateway = await startGateway(t, { ...settings, config: { ...settings.config, metrics: { port } } })
  const metricsUrl = `http://127.0.0.1:${port}/metrics`
  return { ...gateway, metricsUrl, scrape: async () => readScrape(await (await fetch(metricsUrl)).text()) }
}

/** The series of a text of Prometheus. */
export function readScrape (text: string): Scrape {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return {
    text,
    series: lines.filter(line => line.startsWith('clinigate_')).length,
    value: (name, labels = {}) => lines
      .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter(line => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  }
}
