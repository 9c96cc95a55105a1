// A hostile gRPC client: calls every method of the server with the tokens of other tenants.
//
//   node tenants.mjs ADDRESS PHASE TOKENS_AS_JSON
import assert from 'node:assert/strict';
import {readdirSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [address, phase, words] = process.argv.slice(2);
const tokens = JSON.parse(words);
const proto = fileURLToPath(new URL('../../proto', import.meta.url));
const files = readdirSync(`${proto}/clrscope/fleet/v1`).map(name => `clrscope/fleet/v1/${name}`);
const definition = loader.loadSync(files, {includeDirs: [proto], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true});
const packages = grpc.loadPackageDefinition(definition);
const services = [packages.clrscope.fleet.v1, packages.opentelemetry.proto.collector.trace.v1].flatMap(one => Object.entries(one)).filter(([, one]) => one.service);
const clients = Object.fromEntries(services.map(([name, Client]) => [name, new Client(address, grpc.credentials.createInsecure())]));
const {OK, UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED} = grpc.status;

const metadata = (token, more = {}) => {
  const made = new grpc.Metadata();
  if (token) made.set('authorization', `Bearer ${token}`);
  for (const [name, value] of Object.entries(more)) made.set(name, value);
  return made;
};

function send(token, messages, more) {
  return new Promise(resolve => {
    const answers = [];
    const stream = clients.Ingest.Stream(metadata(token, more));
    stream.on('data', answer => answers.push(answer));
    stream.on('error', () => {});
    stream.on('status', status => resolve({acknowledged: answers.filter(one => one.acknowledgement).map(one => one.acknowledgement),
      welcome: answers.find(one => one.welcome)?.welcome, status}));
    for (const message of messages) stream.write(message);
    stream.end();
  });
}

// Any method; streams of answers give the first failure or all answers.
function call(service, method, request, token, more) {
  return new Promise(resolve => {
    const {requestStream, responseStream} = clients[service][method];
    const done = (error, answer) => resolve({code: error ? error.code : OK, details: error?.details, answer});
    if (!requestStream && !responseStream) return clients[service][method](request, metadata(token, more), done);
    const stream = clients[service][method](...(requestStream ? [metadata(token, more)] : [request, metadata(token, more)]));
    const answers = [];
    stream.on('data', one => answers.push(one));
    stream.on('error', () => {});
    stream.on('status', status => resolve({code: status.code, details: status.details, answer: answers}));
    if (requestStream) stream.end();
    else setTimeout(() => stream.cancel(), 3000);
  });
}

const hour = 3600n * 1000000000n;
const now = BigInt(Date.now()) * 1000000n;
const hello = (clock = now) => ({hello: {protocol: 1, relay: 'test', now_unix_ns: String(clock)}});
const trace = number => Buffer.from(number.toString(16).padStart(32, '0'), 'hex');
const batch = (service, {id = 'the-same-batch-id', begin = now, routes = 1, number = 1, traceId = 7} = {}) => ({
  batch: {
    id: Buffer.from(id),
    batch: {
      source: {host: `host-of-${service}`, service, service_version: `version-of-${service}`, instance: Buffer.from('one-instance')},
      created_unix_ns: String(begin),
      names: ['GET', `Method.Of.${service}`, ...Array.from({length: routes}, (_, i) => `/${service}/${i}`)],
      requests: Array.from({length: routes}, (_, i) => ({
        trace_id: trace(traceId), begin_unix_ns: String(begin), duration_ns: 1000, running_ns: 1000, method: 1, route: 3 + i, status: 200, flags: 1,
        spans: {method: [2], duration_ns: [1000], self_ns: [1000]}, samples: {weight_ns: [10], stack: [1], span: [1]},
      })),
      stack_method: [2],
      written_requests: number * routes, written_spans: number * routes, written_samples: number * routes,
      recording: {seen_requests: routes, sampled_requests: routes},
    },
  },
});
const outcomes = sent => sent.acknowledged.map(one => one.outcome);

async function isolation() {
  // The same batch id, instance and trace id in both: neither is a duplicate of the other. Each has a trace id of its own too.
  for (const tenant of ['alpha', 'beta']) {
    const own = tenant === 'alpha' ? 0xa : 0xb;
    const sent = await send(tokens[tenant].ingest, [hello(), batch(`secret-${tenant}`), batch(`secret-${tenant}`),
      batch(`secret-${tenant}`, {id: `own-batch-${tenant}`, number: 2, traceId: own})], {tenant: 'beta', 'x-tenant': 'beta'});
    assert.equal(sent.status.code, OK, sent.status.details);
    assert.deepEqual(outcomes(sent), ['OUTCOME_STORED', 'OUTCOME_DUPLICATE', 'OUTCOME_STORED'], tenant);
  }
  // Alpha guesses the batch id of beta before beta sends it: beta's is stored all the same.
  assert.deepEqual(outcomes(await send(tokens.alpha.ingest, [hello(), batch('secret-alpha', {id: 'guessed-id', number: 3})])), ['OUTCOME_STORED']);
  assert.deepEqual(outcomes(await send(tokens.beta.ingest, [hello(), batch('secret-beta', {id: 'guessed-id', number: 3})])), ['OUTCOME_STORED']);

  // Every method of every service, asked for what is beta's. Methods that are added later are here by themselves.
  const selection = {service: 'secret-beta', host: 'host-of-secret-beta'};
  const both = {selection, before: selection, after: selection, by: 0, service: 'secret-beta', host: 'host-of-secret-beta',
    trace_id: trace(0xb).toString('hex')};
  let methods = 0;
  for (const [service, Client] of services) {
    for (const [method, {originalName}] of Object.entries(Client.service)) {
      const ask = (token, request = both, more = {tenant: 'beta', 'x-tenant': 'beta', 'x-scope-orgid': 'beta'}) => call(service, method, request, token, more);
      const what = `${service}.${originalName ?? method}`;
      ++methods;
      assert.equal((await ask(null)).code, UNAUTHENTICATED, `${what} without a token`);
      assert.equal((await ask('clrf_wrong')).code, UNAUTHENTICATED, `${what} with a wrong token`);
      assert.equal((await ask(tokens.operator)).code, PERMISSION_DENIED, `${what} with the token of no tenant`);
      assert.equal((await ask(tokens.gone)).code, PERMISSION_DENIED, `${what} with the token of a tenant that does not exist`);
      assert.equal((await ask(tokens.plain)).code, PERMISSION_DENIED, `${what} with a token that names no tenant`);
      assert.equal((await ask(service === 'Query' ? tokens.alpha.ingest : tokens.alpha.read)).code, PERMISSION_DENIED, `${what} with the wrong scope`);
      if (service !== 'Query') continue;
      for (const request of [both, {...both, selection: {service: 'secret-alpha'}, service: 'secret-alpha'}, {}]) {
        const got = await ask(tokens.alpha.read, request);
        assert.ok(!JSON.stringify(got).replaceAll('"secret-beta"', '').includes('secret-beta'), `${what}: beta's data: ${JSON.stringify(got)}`);
      }
    }
  }
  // Beta sees its own, and alpha its own of the trace id that both have.
  const mine = await call('Query', 'FindRequest', {trace_id: trace(7).toString('hex')}, tokens.alpha.read);
  assert.deepEqual([...new Set(mine.answer.requests.map(one => one.service))], ['secret-alpha']);
  assert.equal((await call('Query', 'FindRequest', {trace_id: trace(0xb).toString('hex')}, tokens.alpha.read)).answer.requests.length, 0);
  assert.equal((await call('Query', 'FindRequest', {trace_id: trace(0xb).toString('hex')}, tokens.beta.read)).answer.requests.length, 1);
  assert.deepEqual((await call('Query', 'Services', {}, tokens.beta.read)).answer.services.map(one => one.service), ['secret-beta']);
  return `${methods} methods`;
}

async function limits() {
  // Bytes: the stream ends with a reason, and nothing of the other tenants is refused.
  let sent;
  for (let i = 0; i < 3; ++i) sent = await send(tokens.full.ingest, [hello(), batch('big', {id: `full-batch-${i}`, number: i + 1})]);
  assert.equal(sent.status.code, RESOURCE_EXHAUSTED);
  assert.match(sent.status.details, /tenant full: .* of its quota of .* are used: retry later/);
  assert.deepEqual(outcomes(await send(tokens.alpha.ingest, [hello(), batch('secret-alpha', {id: 'not-full-01', number: 4})])), ['OUTCOME_STORED']);

  // Series: two routes of five are stored, and the server says how many are not. Then none of another service.
  sent = await send(tokens.few.ingest, [hello(), batch('few', {id: 'few-batch-1', routes: 5}), batch('other', {id: 'few-batch-2', routes: 2}),
    batch('few', {id: 'few-batch-3', routes: 2, number: 2})]);
  assert.deepEqual(outcomes(sent), ['OUTCOME_STORED', 'OUTCOME_REFUSED', 'OUTCOME_STORED']);
  assert.deepEqual(sent.acknowledged.map(one => one.refused_requests), ['3', '2', '0']);
  assert.match(sent.acknowledged[0].reason, /quota/);

  // Retention of one hour: two hours are too old here, and not there. A clock that is hours behind or ahead is no age.
  const old = id => batch('late', {id, begin: now - 2n * hour});
  assert.deepEqual(outcomes(await send(tokens.brief.ingest, [hello(), old('brief-batch-1')])), ['OUTCOME_REFUSED']);
  sent = await send(tokens.alpha.ingest, [hello(), old('alpha-batch-1')]);
  assert.deepEqual(outcomes(sent), ['OUTCOME_STORED']);
  assert.equal(sent.welcome.retention_seconds, '604800');
  for (const skew of [-9n, 9n]) {
    const clock = now + skew * hour;
    sent = await send(tokens.brief.ingest, [hello(clock), batch('skewed', {id: `skewed-batch${skew}`, begin: clock - 1000000000n})]);
    assert.deepEqual(outcomes(sent), ['OUTCOME_STORED'], `a clock ${skew} hours off`);
    assert.equal(sent.welcome.retention_seconds, '3600');
  }
  const {answer} = await call('Query', 'Series', {selection: {service: 'skewed', range: {from_unix_ns: String(now - hour / 6n), to_unix_ns: String(now + hour / 6n)}},
    by: 'GROUP_BY_SERVICE'}, tokens.brief.read);
  assert.equal(answer.series[0].latency.requests, '2', 'both are found at the time of the server');
  return 'limits';
}

// The tenant is taken out of the file while its stream is open.
async function removal() {
  const answers = [];
  const stream = clients.Ingest.Stream(metadata(tokens.beta.ingest));
  const ended = new Promise(resolve => stream.on('status', resolve));
  stream.on('error', () => {});
  stream.on('data', one => answers.push(one));
  stream.write(hello());
  while (answers.length === 0) await new Promise(resolve => setTimeout(resolve, 20));
  console.log('open');
  await new Promise(resolve => process.stdin.once('data', resolve));
  stream.write(batch('secret-beta', {id: 'after-removal', number: 9}));
  assert.equal((await ended).code, PERMISSION_DENIED);
  assert.equal((await call('Query', 'Services', {}, tokens.beta.read)).code, PERMISSION_DENIED);
  process.stdin.destroy();
  return 'removal';
}

const said = await {isolation, limits, removal}[phase]();
for (const client of Object.values(clients)) client.close();
console.log(`${phase}: ok: ${said}`);
