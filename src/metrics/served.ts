/** What is loaded only where something is measured. */
export { serveMetrics } from './listener.js'
export { prometheusMetrics } from './prometheus.js'
