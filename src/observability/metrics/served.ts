/** What is loaded only where something is measured. */
export { startMetricsServer as serveMetrics } from './listener.js'
export { prometheusMetrics } from './prometheus.js'
