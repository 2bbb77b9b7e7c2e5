// Traces of Usher by OpenTelemetry's SDK, in front of everything else (docs/guides/tracing.md):
//
//   NODE_OPTIONS='--import /opt/usher-tracing/tracing.mjs' usher serve
//
// The SDK reads OTEL_… of the environment: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and others.
import { NodeSDK } from '@opentelemetry/sdk-node';

process.env.OTEL_SERVICE_NAME ??= 'usher';
// Prometheus reads the metrics, and the log is on standard output.
process.env.OTEL_METRICS_EXPORTER ??= 'none';
process.env.OTEL_LOGS_EXPORTER ??= 'none';
// A caller who samples a trace is followed; of all others, one in a hundred.
process.env.OTEL_TRACES_SAMPLER ??= 'parentbased_traceidratio';
process.env.OTEL_TRACES_SAMPLER_ARG ??= '0.01';

new NodeSDK().start();
