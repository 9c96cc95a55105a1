// gRPC's own client for JavaScript writes and reads by the published proto.
//
//   node client.mjs ADDRESS INGEST_TOKEN READ_TOKEN REST_ADDRESS
import assert from 'node:assert/strict';
import {fileURLToPath} from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [address, ingestToken, readToken, restAddress] = process.argv.slice(2);
const proto = fileURLToPath(new URL('../../proto', import.meta.url));
const definition = loader.loadSync(['clrscope/fleet/v1/ingest.proto', 'clrscope/fleet/v1/query.proto'],
  {includeDirs: [proto], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true});
const {Ingest, Query} = grpc.loadPackageDefinition(definition).clrscope.fleet.v1;
const insecure = grpc.credentials.createInsecure();
const ingest = new Ingest(address, insecure);
const query = new Query(address, insecure);

const metadata = token => {
  const made = new grpc.Metadata();
  if (token) made.set('authorization', `Bearer ${token}`);
  return made;
};

// Sends messages one after the other; all answers, and the status at the end.
function send(token, messages) {
  return new Promise(resolve => {
    const answers = [];
    const stream = ingest.Stream(metadata(token));
    stream.on('data', answer => answers.push(answer));
    stream.on('error', () => {});
    stream.on('status', status => resolve({answers, status}));
    for (const message of messages) stream.write(message);
    stream.end();
  });
}

function ask(method, request, token = readToken) {
  return new Promise((resolve, reject) =>
    query[method](request, metadata(token), (error, answer) => (error ? reject(error) : resolve(answer))));
}

const now = BigInt(Date.now()) * 1000000n;
const hello = {hello: {protocol: 1, relay: 'test', now_unix_ns: String(now)}};
const traceId = Buffer.from('0af7651916cd43dd8448eb211c80319c', 'hex');
const request = (duration, more = {}) => ({
  trace_id: traceId, begin_unix_ns: String(now), duration_ns: duration, running_ns: duration, method: 1, route: 2, path: 3, status: 200,
  flags: 1,
  samples: {time_ns: [20, 60], weight_ns: [10, 10], stack: [2, 1], span: [2, 1], thread: [7, 7]},
  spans: {method: [4, 5, 5], parent: [0, 1, 1], begin_ns: [0, 10, 40], duration_ns: [100, 20, 30], self_ns: [50, 20, 30]},
  ...more,
});
const batch = (number, requests) => ({
  batch: {
    id: Buffer.from(`js-batch-${number}`),
    batch: {
      source: {host: 'js-1', service: 'js', service_version: '3.1', instance: Buffer.from('js-instance'), runtime: 'node'},
      created_unix_ns: String(now),
      names: ['PUT', '/a/{b}', '/a/7', 'A.Handle', 'A.Query'],
      requests,
      written_requests: number * 2,
      written_spans: number * 6,
      written_samples: number * 4,
      stack_method: [4, 5],
      stack_parent: [0, 1],
      recording: {seen_requests: 8, sampled_requests: 2},
    },
  },
});

// Two batches, one of them twice; then one that cannot be right.
const broken = batch(3, [request(100, {spans: {method: [99]}})]);
const sent = await send(ingestToken, [hello, batch(1, [request(100), request(900, {trace_id: Buffer.alloc(16, 7)})]),
  batch(1, [request(100), request(900)]), broken]);
assert.equal(sent.status.code, grpc.status.OK);
const [welcome, ...acknowledged] = sent.answers;
assert.equal(welcome.welcome.protocol, 1);
assert.ok(welcome.welcome.max_unacknowledged > 0);
assert.deepEqual(acknowledged.map(one => one.acknowledgement.outcome), ['OUTCOME_STORED', 'OUTCOME_DUPLICATE', 'OUTCOME_REFUSED']);
assert.match(acknowledged[2].acknowledgement.reason, /method 99/);
assert.equal(acknowledged[0].acknowledgement.id.toString(), 'js-batch-1');

// A later protocol is answered with ours; none, or no hello, is refused.
const later = await send(ingestToken, [{hello: {...hello.hello, protocol: 7}}]);
assert.equal(later.answers[0].welcome.protocol, 1);
assert.equal((await send(ingestToken, [{hello: {protocol: 0}}])).status.code, grpc.status.INVALID_ARGUMENT);
assert.equal((await send(ingestToken, [batch(9, [])])).status.code, grpc.status.INVALID_ARGUMENT);

// Tokens.
assert.equal((await send('wrong', [hello])).status.code, grpc.status.UNAUTHENTICATED);
assert.equal((await send(null, [hello])).status.code, grpc.status.UNAUTHENTICATED);
assert.equal((await send(readToken, [hello])).status.code, grpc.status.PERMISSION_DENIED);
await assert.rejects(ask('Hosts', {}, ingestToken), {code: grpc.status.PERMISSION_DENIED});
await assert.rejects(ask('Hosts', {}, 'wrong'), {code: grpc.status.UNAUTHENTICATED});

// What was written here, and what the relay wrote.
const {services} = await ask('Services', {});
const js = services.find(one => one.service === 'js');
assert.equal(js.requests, '2');
assert.equal(js.spans, '6');
const shop = services.find(one => one.service === 'shop');
assert.ok(Number(shop.requests) > 0);

const {routes} = await ask('Routes', {selection: {service: 'js'}, step_seconds: 10});
assert.equal(routes[0].route, 'PUT /a/{b}');
assert.equal(routes[0].latency.p50_ns, '100');
assert.equal(routes[0].latency.p99_ns, '900');
assert.equal(routes[0].points.reduce((sum, point) => sum + Number(point.latency.requests), 0), 2);

const flame = await ask('Flame', {selection: {service: 'js', route: 'PUT /a/{b}'}});
assert.deepEqual(flame.name.map(one => flame.names[one]), ['A.Handle', 'A.Query']);
assert.deepEqual(flame.depth, [0, 1]);
assert.deepEqual(flame.self_ns, ['100', '100']);
assert.deepEqual(flame.calls, ['2', '4']);
const slow = await ask('Flame', {selection: {service: 'js'}, from_percentile: 99});
assert.equal(slow.requests, '1');
assert.equal(slow.shortest_ns, '900');
await assert.rejects(ask('Flame', {selection: {service: 'js'}, from_percentile: 90, to_percentile: 10}),
  {code: grpc.status.INVALID_ARGUMENT});

const found = await ask('FindRequest', {trace_id: traceId.toString('hex')});
assert.equal(found.requests.length, 1);
assert.equal(found.requests[0].path, '/a/7');
assert.deepEqual(found.requests[0].spans.map(one => [one.method, one.parent, one.begin_ns, one.duration_ns]),
  [['A.Handle', 0, '0', '100'], ['A.Query', 1, '10', '20'], ['A.Query', 1, '40', '30']]);
await assert.rejects(ask('FindRequest', {trace_id: 'x'}), {code: grpc.status.INVALID_ARGUMENT});

const relayed = await ask('FindRequest', {trace_id: '00000000000000010000000000000002'});
assert.equal(relayed.requests[0].spans[0].method, 'Shop.Orders.PlaceAsync');
assert.equal(relayed.requests[0].spans[0].step_begin_ns.length, 2);

const {hosts} = await ask('Hosts', {});
const host = hosts.find(one => one.host === 'js-1');
assert.equal(host.stored_requests, '2');
assert.equal(host.lost_requests, '0');
assert.equal(host.duplicates, '1');
assert.equal(host.seen_requests, '8');
assert.equal(host.written_samples, '4');
assert.equal(host.stored_samples, '4');

// CPU samples, series and the slowest requests.
assert.deepEqual(found.requests[0].stacks.map(one => [one.span, one.samples, one.cpu_ns, one.frames]),
  [[2, '1', '10', ['A.Query', 'A.Handle']], [1, '1', '10', ['A.Handle']]]);
const cpu = await ask('Flame', {selection: {service: 'js'}, weight: 'FLAME_WEIGHT_CPU'});
assert.equal(cpu.samples, '4');
assert.deepEqual(cpu.name.map(one => cpu.names[one]), ['A.Handle', 'A.Query']);
assert.deepEqual(cpu.self_ns, ['20', '20']);

const {series} = await ask('Series', {selection: {service: 'js'}, by: 'GROUP_BY_VERSION', step_seconds: 10});
assert.deepEqual(series.map(one => [one.group, one.latency.requests, one.latency.p99_ns]), [['3.1', '2', '900']]);
assert.equal(series[0].points.reduce((sum, point) => sum + Number(point.latency.requests), 0), 2);
const byService = await ask('Series', {by: 'GROUP_BY_SERVICE'});
assert.deepEqual(byService.series.map(one => one.group).sort(), ['js', 'shop']);
await assert.rejects(ask('Series', {by: 'GROUP_BY_HOST'}), {code: grpc.status.INVALID_ARGUMENT});

const slowest = await ask('SlowestRequests', {selection: {service: 'js'}, limit: 1});
assert.deepEqual(slowest.requests.map(one => [one.duration_ns, one.span_count, one.sample_count, one.spans.length]), [['900', 3, 2, 0]]);
const fastest = await ask('SlowestRequests', {selection: {service: 'js'}, to_percentile: 50});
assert.deepEqual(fastest.requests.map(one => one.duration_ns), ['100']);
await assert.rejects(ask('SlowestRequests', {selection: {service: 'js'}, limit: 5000}), {code: grpc.status.INVALID_ARGUMENT});
await assert.rejects(ask('Series', {}, ingestToken), {code: grpc.status.PERMISSION_DENIED});

// Comparisons: equal to what REST answers.
const rest = async (path, query) => {
  const address = new URL(path, restAddress);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  const answer = await fetch(address, {headers: {authorization: `Bearer ${readToken}`}});
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
};
const older = {...batch(5, Array.from({length: 40}, (_, i) => request(50 + i, {trace_id: Buffer.alloc(16, i + 1)})))};
older.batch.batch.source = {...older.batch.batch.source, service_version: '3.0', instance: Buffer.from('js-instance-2')};
assert.equal((await send(ingestToken, [hello, older])).answers[1].acknowledgement.outcome, 'OUTCOME_STORED');
const sides = {before: {service: 'js', version: '3.0'}, after: {service: 'js', version: '3.1'}};
const words = {same: 'VERDICT_SAME', better: 'VERDICT_BETTER', worse: 'VERDICT_WORSE', mixed: 'VERDICT_MIXED', tooFew: 'VERDICT_TOO_FEW', new: 'VERDICT_NEW', gone: 'VERDICT_GONE'};
const toNs = ms => (ms == null ? null : String(Math.round(ms * 1e6)));
const compared = await ask('Compare', sides);
const comparedByRest = await rest('/fleet/compare', {service: 'js', version: '3.1', baseVersion: '3.0'});
const pairs = [[compared.overall, comparedByRest.overall], ...compared.routes.map((one, i) => [one, comparedByRest.routes[i]])];
assert.equal(compared.routes.length, comparedByRest.routes.length);
for (const [one, other] of pairs) {
  assert.equal(one.route, other.route ?? '');
  assert.equal(one.verdict, words[other.verdict]);
  assert.equal(one.reason, other.reason);
  for (const name of ['p50', 'p95', 'p99', 'running', 'cpu'])
    assert.equal(one[`_${name}_percent`] ? one[`${name}_percent`] : null, other[`${name}Percent`] ?? null, name);
  for (const side of ['before', 'after']) {
    assert.equal(one[side].latency.requests, String(other[side].requests));
    assert.equal(one[side].latency.p50_ns, toNs(other[side].p50Ms));
    assert.equal(one[side].error_percent, other[side].errorPercent);
    assert.equal(one[side]._running_each_ns ? one[side].running_each_ns : null, toNs(other[side].runningEachMs));
    assert.equal(one[side]._cpu_each_ns ? one[side].cpu_each_ns : null, toNs(other[side].cpuEachMs));
  }
}
assert.equal(compared.overall.before.cpu_each_ns, '20');
assert.equal(compared.overall.before.latency.requests, '40');
for (const weight of ['FLAME_WEIGHT_RUNNING', 'FLAME_WEIGHT_CPU']) {
  const flames = await ask('CompareFlame', {...sides, weight});
  const byRest = await rest('/fleet/compare/flame', {service: 'js', version: '3.1', baseVersion: '3.0', by: weight === 'FLAME_WEIGHT_CPU' ? 'cpu' : 'running'});
  assert.deepEqual(flames.names, byRest.names);
  assert.deepEqual(flames.name, byRest.name);
  assert.deepEqual(flames.depth, byRest.depth);
  assert.deepEqual(flames.before_self_ns.map(Number), byRest.beforeSelfNs);
  assert.deepEqual(flames.after_self_ns.map(Number), byRest.afterSelfNs);
  assert.equal(flames.before_requests, String(byRest.beforeRequests));
  assert.equal(flames.after_samples, String(byRest.afterSamples));
  assert.equal(flames.before_total_ns, toNs(byRest.beforeTotalMs));
}
await assert.rejects(ask('Compare', {before: {service: 'js'}}), {code: grpc.status.INVALID_ARGUMENT});
await assert.rejects(ask('CompareFlame', {...sides, from_percentile: 90, to_percentile: 10}), {code: grpc.status.INVALID_ARGUMENT});
await assert.rejects(ask('Compare', sides, ingestToken), {code: grpc.status.PERMISSION_DENIED});

ingest.close();
query.close();
console.log('gRPC client: ok');
