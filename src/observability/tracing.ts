import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node'
import type { FastifyPluginCallback } from 'fastify'
import type { BeginExchange } from '../backends/observed-backend.js'
import type { Environment } from '../config/environment.js'

/** Traces of this process. */
export interface Traces {
  /** Begins a trace with each request, or continues the one that the request belongs to. */
  readonly plugin: FastifyPluginCallback
  readonly begin: BeginExchange
}

/** The packages that traces need; they are no dependencies, since most gateways do without. */
const packages = ['@fastify/otel', '@opentelemetry/api', '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources', '@opentelemetry/sdk-trace-node']

/**
 * Whether the variables of OpenTelemetry request traces:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export function isTracingEnabled (
  { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }:
  Environment
): boolean {
  if (OTEL_SDK_DISABLED === 'true' || OTEL_TRACES_EXPORTER === 'none') return false
  return Boolean(OTEL_TRACES_EXPORTER || OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
}

/**
 * Traces to the collector that the variables of OpenTelemetry name, which also set the sampling; undefined if they name
 * none.
 */
export async function openTraces (
  { environment, version }: { readonly environment: Environment, readonly version: string },
  closers: { add(thing: { close(): unknown }): unknown }
): Promise<Traces | undefined> {
  if (!isTracingEnabled(environment)) return undefined
  const { api, otel, exporter, resources, sdk } = await load()
  const resource = resources.defaultResource().merge(
    resources.resourceFromAttributes({ 'service.name': 'clinigate', 'service.version': version })
  ).merge(resources.detectResources({ detectors: [resources.envDetector] }))
  const provider = new sdk.NodeTracerProvider({
    resource,
    spanProcessors: [new sdk.BatchSpanProcessor(withoutContent(new exporter.OTLPTraceExporter()))]
  })
  provider.register()
  closers.add({
    close: async () => {
      await provider.shutdown().catch(() => {})
      for (const part of [api.trace, api.context, api.propagation]) part.disable()
    }
  })
  const instrumentation = instrument(otel)
  instrumentation.setTracerProvider(provider)
  const tracer = provider.getTracer('clinigate', version)
  return {
    plugin: instrumentation.plugin() as unknown as FastifyPluginCallback,
    begin: (datastore, method) => {
      const span = tracer.startSpan(`${method} ${datastore}`, {
        kind: api.SpanKind.CLIENT,
        attributes: { 'http.request.method': method, 'clinigate.datastore': datastore }
      })
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end: (status, code) => {
          if (status !== undefined) span.setAttribute('http.response.status_code', status)
          if (code !== undefined) span.setAttribute('error.type', code).setStatus({ code: api.SpanStatusCode.ERROR })
          span.end()
        }
      }
    }
  }
}

function instrument ({ FastifyOtelInstrumentation }: Awaited<ReturnType<typeof load>>['otel']) {
  return new FastifyOtelInstrumentation({
    instrumentHooks: false,
    recordExceptions: false,
    lifecycleHook: span => {
      span.updateName('handler')
    },
    requestHook: (span, { method, routeOptions }) => {
      span.updateName(`${method} ${routeOptions.url ?? 'none'}`)
    }
  })
}

async function load () {
  try {
    const [api, otel, exporter, resources, sdk] = await Promise.all([import('@opentelemetry/api'),
      import('@fastify/otel'), import('@opentelemetry/exporter-trace-otlp-http'), import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-node')])
    return { api, otel, exporter, resources, sdk }
  } catch (error) {
    throw new Error(
      `OTEL_* turns on traces, which need packages that are not installed; run npm install ${
        packages.join(' ')
      }, or set OTEL_SDK_DISABLED=true`,
      { cause: error }
    )
  }
}

/** The attributes that may be exported with a span; the library would add the URL. */
const exportedAttributes = ['http.request.method', 'http.route', 'http.response.status_code', 'error.type',
  'clinigate.datastore']

/** The same exporter, without any part of a request's URL, headers or body, or the text of an error. */
function withoutContent (exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans.map(toExportedSpan), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => await exporter.forceFlush?.()
  }
}

function toExportedSpan (span: ReadableSpan): ReadableSpan {
  const attributes = Object.fromEntries(
    Object.entries(span.attributes).filter(([name]) => exportedAttributes.includes(name))
  )
  const { traceId, spanId, traceFlags } = span.spanContext()
  // Without the trace state, which is a client's own words.
  const spanContext = () => ({ traceId, spanId, traceFlags })
  return Object.create(span, {
    spanContext: { value: spanContext },
    attributes: { value: attributes },
    events: { value: [] },
    links: { value: [] },
    status: { value: { code: span.status.code } }
  })
}
