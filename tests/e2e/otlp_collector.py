"""An OpenTelemetry collector for tests: takes OTLP metrics over HTTP or gRPC, decodes them with the published definitions, and
writes each data point as a line of JSON. The first requests are answered with what the arguments say: 503, 400 …; over gRPC:
UNAVAILABLE, INVALID_ARGUMENT …, and OUTPUT.keys has the header x-key of each call. The gRPC server is grpcio's, that is gRPC's own core.

    otlp_collector.py PROTOS PORT_FILE OUTPUT [grpc [CERTIFICATE KEY]] [STATUS…]
"""
import concurrent.futures
import http.server
import json
import os
import sys

protos, port_file, output, *statuses = sys.argv[1:]
sys.path.insert(0, protos)
sys.dont_write_bytecode = True

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2  # noqa: E402

by_grpc = statuses[:1] == ["grpc"]
if by_grpc:
    import grpc  # noqa: E402
    statuses.pop(0)
files = [statuses.pop(0), statuses.pop(0)] if statuses and "/" in statuses[0] else []
if not by_grpc:
    statuses = [int(status) for status in statuses]
out = open(output, "a", buffering=1)
keys = open(output + ".keys", "a", buffering=1)


def plain(attributes):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def tell(body):
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    request.ParseFromString(body)
    for of_process in request.resource_metrics:
        resource = plain(of_process.resource.attributes)
        for of_scope in of_process.scope_metrics:
            for metric in of_scope.metrics:
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                for point in data.data_points:
                    line = {"resource": resource, "scope": of_scope.scope.name, "name": metric.name, "unit": metric.unit, "kind": kind,
                            "tags": plain(point.attributes), "start": point.start_time_unix_nano, "time": point.time_unix_nano,
                            "cumulative": getattr(data, "aggregation_temporality", None) == 2, "monotonic": getattr(data, "is_monotonic", None)}
                    if kind in ("sum", "gauge"):
                        line["value"] = point.as_double
                    else:
                        line |= {"count": point.count, "sum": point.sum}
                    if kind == "summary":
                        line["quantiles"] = {str(q.quantile): q.value for q in point.quantile_values}
                    if kind == "histogram":
                        line |= {"bounds": list(point.explicit_bounds), "counts": list(point.bucket_counts)}
                    out.write(json.dumps(line) + "\n")


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = statuses.pop(0) if statuses else 200
        if status == 200:
            assert self.headers["Content-Type"] == "application/x-protobuf" and self.path == "/v1/metrics", self.path
            tell(body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


def export(body, context):
    if statuses:
        context.abort(grpc.StatusCode[statuses.pop(0)], "not now: 100%\nor later")
    tell(body)
    keys.write(f"{dict(context.invocation_metadata()).get('x-key')}\n")
    return b""


def tell_port(port):
    with open(port_file + ".new", "w") as file:
        file.write(str(port))
    os.rename(port_file + ".new", port_file)


if by_grpc:
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
        "opentelemetry.proto.collector.metrics.v1.MetricsService", {"Export": grpc.unary_unary_rpc_method_handler(export)}),))
    if files:
        certificate, key = (open(file, "rb").read() for file in files)
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    tell_port(port)
    server.wait_for_termination()
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    tell_port(server.server_address[1])
    server.serve_forever()
