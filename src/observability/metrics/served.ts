/** The modules that are loaded only if metrics are configured. */
export { startMetricsServer as serveMetrics } from './listener.js'
export { prometheusMetrics } from './prometheus.js'
