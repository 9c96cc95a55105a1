// A collector of OTLP spans and profiles: keeps what it gets and, at each line of stdin, prints it as JSON, decoded by protobufjs with
// the field numbers of OTLP 1.9 to 1.11 (those of the spans come from proto/).
//
//   node profiles.mjs        prints its port first
import {createServer} from 'node:http';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import loader from '@grpc/proto-loader';

const message = fields => ({
  fields: Object.fromEntries(Object.entries(fields).map(([name, [id, type, repeated]]) => [name, {id, type, ...(repeated ? {rule: 'repeated'} : {})}])),
});
const many = true;
const kProfiles = {
  nested: {
    AnyValue: message({stringValue: [1, 'string'], boolValue: [2, 'bool'], intValue: [3, 'int64'], doubleValue: [4, 'double']}),
    KeyValue: message({key: [1, 'string'], value: [2, 'AnyValue']}),
    Resource: message({attributes: [1, 'KeyValue', many]}),
    Scope: message({name: [1, 'string'], version: [2, 'string']}),
    ValueType: message({typeStrindex: [1, 'int32'], unitStrindex: [2, 'int32']}),
    Sample: message({stackIndex: [1, 'int32'], attributeIndices: [2, 'int32', many], linkIndex: [3, 'int32'], values: [4, 'int64', many], timestampsUnixNano: [5, 'fixed64', many]}),
    Profile: message({sampleType: [1, 'ValueType'], samples: [2, 'Sample', many], timeUnixNano: [3, 'fixed64'], durationNano: [4, 'uint64'], periodType: [5, 'ValueType'], period: [6, 'int64'], profileId: [7, 'bytes']}),
    ScopeProfiles: message({scope: [1, 'Scope'], profiles: [2, 'Profile', many], schemaUrl: [3, 'string']}),
    ResourceProfiles: message({resource: [1, 'Resource'], scopeProfiles: [2, 'ScopeProfiles', many], schemaUrl: [3, 'string']}),
    Mapping: message({memoryStart: [1, 'uint64'], memoryLimit: [2, 'uint64'], fileOffset: [3, 'uint64'], filenameStrindex: [4, 'int32']}),
    Line: message({functionIndex: [1, 'int32'], line: [2, 'int64'], column: [3, 'int64']}),
    Location: message({mappingIndex: [1, 'int32'], address: [2, 'uint64'], lines: [3, 'Line', many]}),
    Function: message({nameStrindex: [1, 'int32'], systemNameStrindex: [2, 'int32'], filenameStrindex: [3, 'int32'], startLine: [4, 'int64']}),
    Link: message({traceId: [1, 'bytes'], spanId: [2, 'bytes']}),
    Attribute: message({keyStrindex: [1, 'int32'], value: [2, 'AnyValue'], unitStrindex: [3, 'int32']}),
    Stack: message({locationIndices: [1, 'int32', many]}),
    Dictionary: message({mappingTable: [1, 'Mapping', many], locationTable: [2, 'Location', many], functionTable: [3, 'Function', many], linkTable: [4, 'Link', many], stringTable: [5, 'string', many],
      attributeTable: [6, 'Attribute', many], stackTable: [7, 'Stack', many]}),
    Request: message({resourceProfiles: [1, 'ResourceProfiles', many], dictionary: [2, 'Dictionary']}),
    Response: message({}),
    Profiles: {methods: {Export: {requestType: 'Request', responseType: 'Response'}}},
  },
};
const options = {keepCase: true, longs: String, enums: String, defaults: true, oneofs: true, bytes: String};
const proto = fileURLToPath(new URL('../../proto', import.meta.url));
const decoders = {
  '/v1development/profiles': loader.fromJSON(kProfiles, options).Profiles.Export.requestDeserialize,
  '/v1/traces': loader.loadSync('clrscope/fleet/v1/otlp_traces.proto', {...options, includeDirs: [proto]})['opentelemetry.proto.collector.trace.v1.TraceService'].Export.requestDeserialize,
};
const found = {'/v1development/profiles': [], '/v1/traces': []};

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const decode = decoders[request.url];
  if (decode) found[request.url].push(decode(Buffer.concat(parts)));
  response.writeHead(decode && request.headers['content-type'] === 'application/x-protobuf' ? 200 : 404).end();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
createInterface({input: process.stdin}).on('line', () => console.log(JSON.stringify(found)));
