#!/usr/bin/env python3
"""Checks that no span, trace id or route of a recording of the shop belongs to another request.

    check_request_ids.py EVENTS IDS LEAST LOST      clrscope convert --format ndjson, the file of shop-load --ids, fewest requests with spans, how many
                                                    requests clrscope counted as lost

Each route of the shop has methods of its own, so a span in the wrong request shows. A request that the driver sent must have the route, the path and, unless the
client went away, the status of its trace id.
"""
import collections
import json
import sys

SHARED = {"Database.QueryAsync", "Connection.OpenAsync", "Connection.ExchangeAsync", "Connection..ctor", "Database..cctor"}
OF_ROUTE = {
    "GET /health": {"Health.Check"},
    "GET /products/{id}": {"Products.GetAsync"},
    "GET /catalog/{page}": {"Products.ListAsync", "Products.StreamAsync"},
    "GET /orders/{id}": {"Orders.GetAsync", "Orders.LoadAsync", "Stock.CheckAsync"},
    "POST /orders/{id}": {"Orders.PlaceAsync", "Stock.Take", "Mail.SendAsync", "Stock..cctor"},
    "GET /dashboard/{user}": {"Dashboards.ShowAsync", "Dashboards.OrdersOfAsync", "Dashboards.OffersAsync", "Prices.Sum", "Dashboards.ShowAsync (lambda)"},
    "GET /prices/{currency}": {"Prices.Convert", "Prices.Sum"},
    "GET /stock/{item}": {"Stock.Reserve", "Stock.Take", "Stock..cctor"},
    "GET /reports/{name}": {"Reports.WriteAsync", "Reports.CollectAsync", "Prices.Sum"},
    "GET /payments/{id}": {"Payments.ChargeAsync", "Payments.Refuse", "PaymentRefusedException..ctor"},
    "GET /search/{term}": {"Search.FindAsync", "Search.ScanAsync"},
    "GET /feed/{topic}": {"Search.FollowAsync", "Search.ScanAsync"},
    "POST /newsletter/{topic}": {"Mail.Newsletter", "Mail.SendAsync", "Mail.Newsletter (lambda)"},
}


def main():
    sent = {one["traceId"]: one for one in map(json.loads, open(sys.argv[2]))}
    methods, spans, wrong = {}, collections.defaultdict(list), []
    with_spans = ended = 0
    seen = collections.Counter()
    for line in open(sys.argv[1]):
        if '"Clrscope-Requests"' not in line:
            continue
        event = json.loads(line)
        name, fields = event["name"], event["payload"]
        if name == "Method":
            methods[fields["Method"]] = fields["Name"].removeprefix("Samples.Shop.")
        elif name == "Span":
            spans[fields["Request"]].append(methods[fields["Method"]])
        elif name == "Request":
            ended += 1
            calls = spans.pop(fields["Request"], []) if fields["Request"] else []
            with_spans += bool(calls)
            one = sent.get(fields["TraceId"])
            if one is None:
                continue  # a look at the truth
            seen[fields["TraceId"]] += 1
            route = f"{fields['Method']} {fields['Route']}"
            if route != f"{one['method']} {one['route']}" or fields["Path"] != one["path"]:
                wrong.append(f"{fields['TraceId']}: {route} {fields['Path']}, sent to {one['method']} {one['path']}")
            if one["status"] and fields["Status"] != one["status"]:
                wrong.append(f"{fields['TraceId']}: status {fields['Status']}, answered {one['status']}")
            foreign = set(calls) - OF_ROUTE[route] - SHARED
            if foreign:
                wrong.append(f"{fields['TraceId']}: {route} has spans of {sorted(foreign)}")
    missing = [one for one in sent.values() if one["status"] and seen[one["traceId"]] != 1]
    if len(missing) > int(sys.argv[4]):
        wrong.append(f"{len(missing)} answered requests are not there once, such as {missing[0]}")
    if with_spans < int(sys.argv[3]):
        wrong.append(f"only {with_spans} requests have spans")
    for line in wrong[:20]:
        print(line)
    print(f"{ended} requests, {with_spans} with spans, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
