// Sends spans with OpenTelemetry's own SDK and exporters: a gateway that calls the shop, and a service that the shop calls.
//
//   node otlp_export.mjs EXPORTER URL TOKEN TRACEID STARTMS DURATIONMS
//
// EXPORTER: proto, json or grpc. The spans enclose, and lie in, a request of that trace that begins at STARTMS (unix) and takes
// DURATIONMS. They are sent twice, as after an answer that was lost. Prints the outcome of both.
import {ROOT_CONTEXT, SpanKind, SpanStatusCode, trace} from '@opentelemetry/api';
import {OTLPTraceExporter as GrpcExporter} from '@opentelemetry/exporter-trace-otlp-grpc';
import {OTLPTraceExporter as JsonExporter} from '@opentelemetry/exporter-trace-otlp-http';
import {OTLPTraceExporter as ProtoExporter} from '@opentelemetry/exporter-trace-otlp-proto';
import {Metadata} from '@grpc/grpc-js';
import {Resource} from '@opentelemetry/resources';
import {BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor} from '@opentelemetry/sdk-trace-base';

const [kind, url, token, traceId, startText, durationText] = process.argv.slice(2);
const [start, duration] = [Number(startText), Number(durationText)];
const headers = token ? {Authorization: `Bearer ${token}`} : {};

function makeExporter() {
  if (kind === 'proto') return new ProtoExporter({url, headers, compression: 'gzip'});
  if (kind === 'json') return new JsonExporter({url, headers});
  const metadata = new Metadata();
  if (token) metadata.set('authorization', headers.Authorization);
  return new GrpcExporter({url, metadata});
}

const memory = new InMemorySpanExporter();
function tracerOf(service) {
  let id = 0;
  const provider = new BasicTracerProvider({
    resource: new Resource({'service.name': service, 'service.version': '3.1', 'host.name': `${service}-host`}),
    idGenerator: {generateTraceId: () => traceId, generateSpanId: () => `${service.length.toString(16).padStart(8, '0')}${(++id).toString(16).padStart(8, '0')}`},
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  return provider.getTracer(`${service}-instrumentation`, '1');
}

const gateway = tracerOf('gateway');
const root = gateway.startSpan('GET /checkout', {kind: SpanKind.SERVER, startTime: start - 20, attributes: {'http.request.method': 'GET', 'user.tags': ['a', 'b'], 'retry.count': 2}}, ROOT_CONTEXT);
const call = gateway.startSpan('GET', {kind: SpanKind.CLIENT, startTime: start - 10, attributes: {'url.full': 'http://shop/orders/17'}}, trace.setSpan(ROOT_CONTEXT, root));
// The shop's own span id is known to the callee only.
const unknown = trace.setSpanContext(ROOT_CONTEXT, {traceId, spanId: 'ab12ab12ab12ab12', traceFlags: 1, isRemote: true});
const stock = tracerOf('inventory').startSpan('SELECT stock', {kind: SpanKind.SERVER, startTime: start + duration / 4}, unknown);
stock.setStatus({code: SpanStatusCode.ERROR, message: 'no such item'});
stock.end(start + duration / 2);
call.end(start + duration + 10);
root.end(start + duration + 20);

const spans = memory.getFinishedSpans();
const exporter = makeExporter();
const send = () => new Promise((done) => exporter.export(spans, (result) => done({code: result.code, error: result.error?.message ?? ''})));
const outcomes = [await send(), await send()];
await exporter.shutdown();
console.log(JSON.stringify({spans: spans.length, outcomes}));
