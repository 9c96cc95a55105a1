#!/usr/bin/env python3
"""Whether every JSON answer of a real controller is what /openapi.json says. Unknown members are errors.

    check_answers.py PID     PID: a sample that throws, allocates and waits for locks

Every route of /openapi.json that answers JSON is called; one that CALLS does not know fails.
"""
import concurrent.futures
import json
import sys
import threading

from schemas import Schemas
from serve_kit import SCOPES, Serve, check, finish, until

JSON, NDJSON, SEQUENCE, EVENTS = "application/json", "application/x-ndjson", "application/json-seq", "text/event-stream"

# Answers that have no schema yet. One that has got one fails, so that it is taken out here.
WITHOUT_SCHEMA = {"GET /openapi.json"}


class Walk:
    def __init__(self, serve, pid):
        self.serve, self.pid = serve, pid
        self.key = serve.key(*SCOPES)["key"]
        serve.keys_known()
        self.document = serve.ask("/openapi.json").json()
        self.schemas = Schemas(self.document)
        self.seen = set()
        self.events = set()
        self.lock = threading.Lock()

    def ask(self, route, path=None, accept=JSON, body=None, status=None, timeout=90):
        """One request; checks its answer. Gives the answer."""
        method, place = route.split(" ")
        answer = self.serve.ask(path or place, method, key=self.key, body=body, headers={"Accept": accept}, timeout=timeout)
        described = self.document["paths"][place][method.lower()]["responses"].get(str(answer.status))
        check(described is not None, f"{route}: status {answer.status} is described: {answer.text[:300]}")
        if status:
            check(answer.status == status, f"{route}: {status}, not {answer.status}: {answer.text[:300]}")
        kind = answer.headers.get("Content-Type", "").split(";")[0]
        if described is None or not kind:
            return answer
        content = described.get("content", {}).get(kind)
        check(content is not None, f"{route}: {kind} is described for {answer.status}")
        with self.lock:
            self.seen.add((route, kind))
            self.validate(route, kind, content or {}, answer)
        return answer

    def together(self, calls):
        """Streams, each of which lasts for a while: (arguments of ask, its options)."""
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            for call in [pool.submit(self.ask, *words, **options) for words, options in calls]:
                call.result()

    def validate(self, route, kind, content, answer):
        if kind == EVENTS:
            return self.validate_events(route, content.get("x-events", {}), answer.text)
        if kind not in (JSON, NDJSON, SEQUENCE, "application/problem+json"):
            return None
        schema = content.get("schema")
        if kind == JSON:
            check((schema is None) == (route in WITHOUT_SCHEMA), f"{route}: has a schema, or is listed in WITHOUT_SCHEMA, not both")
        if schema is None:
            return None
        lines = [answer.text] if kind in (JSON, "application/problem+json") else answer.text.replace("\x1e", "").splitlines()
        for line in lines:
            for error in self.schemas.errors(schema, json.loads(line))[:5]:
                check(False, f"{route} as {kind}: {error}")
        return None

    def validate_events(self, route, schemas, text):
        for block in text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
            if "event" not in fields:
                continue
            name = fields["event"]
            self.events.add(name)
            check(name in schemas, f"{route}: the event {name} is described")
            for error in self.schemas.errors(schemas.get(name, {}), json.loads(fields["data"]))[:5]:
                check(False, f"{route}, event {name}: {error}")

    def agent(self, of):
        self.ask("GET /agent", "/agent" + of)
        self.ask("POST /agent/sources", "/agent/sources" + of + "&on=exceptions", status=404)
        self.ask("POST /agent/sources", "/agent/sources" + of + "&on=everything", status=400)
        self.ask("POST /agent/attach", "/agent/attach" + of)
        self.ask("POST /agent/sources", "/agent/sources" + of + "&on=exceptions,contention,allocations,survivors")
        self.ask("GET /agent/exceptions", "/agent/exceptions" + of + "&durationSeconds=1", status=429)
        self.ask("POST /agent/sources", "/agent/sources" + of + "&on=none")
        self.ask("GET /agent", "/agent" + of)
        self.ask("POST /agent/detach", "/agent/detach" + of)
        for name in ("exceptions", "contention", "allocations", "survivors"):
            self.ask(f"GET /agent/{name}", f"/agent/{name}{of}&durationSeconds=1")
        self.ask("GET /agent/stacks", "/agent/stacks" + of)
        self.ask("GET /agent/runtime", "/agent/runtime" + of + "&durationSeconds=1")
        self.ask("POST /agent/heap", "/agent/heap" + of)
        self.ask("POST /agent/methods", "/agent/methods" + of + "&durationSeconds=1&include=Samples.Symptoms.Exceptions")  # the last one: the agent stays

    def all(self):
        of = f"?pid={self.pid}"
        for route in ("GET /processes", "GET /info", "GET /openapi.json", "GET /doctor/findings", "GET /formats", "GET /profiles", "GET /providers",
                      "GET /live/status", "GET /agent/sources"):
            self.ask(route)
        for route in ("GET /process", "GET /env", "GET /check", "GET /stacks"):
            self.ask(route, route.split(" ")[1] + of)
        self.ask("GET /stacks", "/stacks" + of, accept="application/speedscope+json")
        self.ask("GET /stacks", "/stacks" + of + "&async=true", status=200)
        self.ask("GET /views/requests", "/views/requests" + of)
        self.ask("GET /process", "/process?pid=2147483647", status=400)
        self.agent(of)
        self.ask("GET /requests", "/requests" + of, status=400)
        self.ask("GET /requests", "/requests" + of + "&include=Samples&durationSeconds=1")
        self.request_runs(of)
        self.watch()
        self.live(of)
        self.recordings(of)
        self.heap(of)
        self.doctor(of)
        self.ask("GET /status", "/status" + of)
        self.ask("GET /live/status")
        for accept in (JSON, NDJSON):
            self.ask("GET /audit", accept=accept)

    def request_runs(self, of):
        start = "/requests" + of + "&include=Samples&durationSeconds=600"
        self.ask("POST /requests", "/requests" + of, status=400)
        run = "/requests/runs/" + self.ask("POST /requests", start, status=201).json()["id"]
        self.ask("POST /requests", start, status=409)
        self.ask("GET /requests", start, status=409)
        check(until(lambda: "profile" in self.ask("GET /requests/runs/{id}", run).json(), 60, 0.5), "a profile that runs shows what it has")
        self.ask("GET /requests/runs/{id}", run + "?requests=true")
        self.ask("POST /requests/runs/{id}/stop", run + "/stop", status=202)
        check(until(lambda: not self.ask("GET /requests/runs/{id}", run).json()["running"], 60, 0.5), "a profile that is stopped ends")
        check(self.ask("GET /requests/runs/{id}", run).json()["ending"] == "stopped", "a profile that is stopped says so")
        check(any(one["state"] == "finished" for one in self.ask("GET /requests/runs").json()), "a profile that has ended is listed")
        self.ask("DELETE /requests/runs/{id}", run, status=204)
        for route, path in (("GET /requests/runs/{id}", run), ("DELETE /requests/runs/{id}", run), ("POST /requests/runs/{id}/stop", run + "/stop")):
            self.ask(route, path, status=404)

    def watch(self):
        seen = self.ask("GET /watch/{pid}", f"/watch/{self.pid}").json()
        check(seen["looks"] > 0 and seen["examined"], "the first answer of the watch has a look behind it")
        check(until(lambda: any(one["pid"] == self.pid and "checkedAt" in one for one in self.ask("GET /watch").json())), "the watch lists the process")
        self.ask("GET /watch/{pid}", "/watch/2147483647", status=404)

    def live(self, of):
        counter = until(lambda: self.ask("GET /counters", "/counters" + of + "&history=1").json()["counters"])
        check(counter, "there are counters")
        provider, name = counter[0]["provider"], counter[0]["name"]
        places = {"GET /counters": "/counters", "GET /counters/{provider}": f"/counters/{provider}",
                  "GET /counters/{provider}/{name}": f"/counters/{provider}/{name}"}
        streams = [((route, path + of + "&durationSeconds=2"), {"accept": accept}) for route, path in places.items() for accept in (JSON, NDJSON, EVENTS)]
        for accept in (NDJSON, SEQUENCE):
            for path, body in (("/livemetrics", '{"includeDefaultProviders":true}'), ("/logs", '{"logLevel":"Trace"}')):
                place = path + of + "&durationSeconds=2"
                streams += [(("GET " + path, place), {"accept": accept}), (("POST " + path, place), {"accept": accept, "body": body})]
        topics = "counters,gc,jit,exceptions,contention,threadpool,thread-starts,logs,events&providers=Microsoft-Windows-DotNETRuntime:0x1:4"
        streams.append((("GET /live", "/live" + of + f"&durationSeconds=8&topics={topics}"), {"accept": EVENTS}))
        self.together(streams)
        for name in ("counters", "exceptions", "contention", "gc"):
            check(name in self.events, f"/live tells {name}: {sorted(self.events)}")
        for name in ("gc", "jit", "exceptions", "contention", "threadpool", "thread-starts"):
            self.ask(f"GET /views/{name}", f"/views/{name}" + of)
        for accept in (JSON, NDJSON, SEQUENCE):
            self.ask("GET /exceptions", "/exceptions" + of, accept=accept)
            self.ask("POST /exceptions", "/exceptions" + of, accept=accept, body='{"exclude":[{"exceptionType":"None"}]}')

    def recordings(self, of):
        made = self.ask("POST /sessions", "/sessions" + of, body='{"profile":"dotnet-common,cpu-sampling"}', status=201).json()
        session = f"/sessions/{made['id']}"
        self.ask("GET /sessions")
        self.ask("GET /sessions/{id}", session)
        self.ask("GET /operations")
        self.ask("GET /operations/{id}", f"/operations/{made['id']}")
        trace = self.ask("POST /sessions/{id}/stop", session + "/stop", accept="*/*").body
        self.ask("GET /sessions/{id}", session)
        self.ask("GET /operations/{id}", f"/operations/{made['id']}")
        uploaded = self.ask("POST /recordings", "/recordings?name=a.nettrace", body=trace, status=201).json()["id"]
        self.ask("PATCH /recordings/{id}", f"/recordings/{uploaded}", body='{"name":"mine"}', status=200)
        self.ask("PATCH /recordings/{id}", f"/recordings/{uploaded}", body='{"name":1}', status=400)
        self.ask("PATCH /recordings/{id}", "/recordings/none", body='{"name":"mine"}', status=404)
        self.ask("GET /recordings")
        self.ask("GET /recordings/{id}", f"/recordings/{uploaded}")
        self.ask("GET /recordings/{id}", f"/recordings/{uploaded}", accept=NDJSON)
        for kind in ("overview", "events", "cpu", "topn", "gc", "exceptions", "contention", "jit", "threadpool", "thread-starts"):
            self.ask("GET /recordings/{id}/report/{kind}", f"/recordings/{uploaded}/report/{kind}")
        self.ask("GET /flame", f"/flame?recording={uploaded}")
        self.ask("GET /flame", f"/flame?recording={uploaded}&route=GET%20/none", status=404)
        self.ask("GET /recordings/{id}/requests", f"/recordings/{uploaded}/requests", status=200)
        self.ask("GET /recordings/{id}/report/{kind}", f"/recordings/{uploaded}/report/none", status=404)
        self.ask("DELETE /recordings/{id}", f"/recordings/{uploaded}", status=204)
        self.ask("DELETE /recordings/{id}", f"/recordings/{uploaded}", status=404)
        second = self.ask("POST /sessions", "/sessions" + of, status=201).json()["id"]
        self.ask("DELETE /sessions/{id}", f"/sessions/{second}", status=204)

    def heap(self, of):
        whole = self.ask("GET /heap", "/heap" + of + "&strings=true").json()
        check(whole["objects"] > 1000 and whole["dominators"], "the heap has objects, and something keeps them alive")
        kept = f"/recordings/{whole['recording']}"
        self.ask("GET /recordings/{id}", kept)
        self.ask("GET /recordings")
        again = self.ask("GET /recordings/{id}/heap", kept + "/heap").json()
        check(again["objects"] == whole["objects"] and again["bytes"] == whole["bytes"], "the stored snapshot has the same objects")
        strings = self.ask("GET /recordings/{id}/heap", kept + "/heap?type=System.String").json()
        self.ask("GET /recordings/{id}/heap", kept + "/heap?object=" + strings["instances"][0]["address"])
        self.ask("GET /recordings/{id}/heap", kept + "/heap?object=0x10", status=404)
        self.ask("GET /recordings/{id}/heap", kept + "/heap?type=NoSuchType", status=404)
        second = self.ask("GET /heap", "/heap" + of + "&type=System.String").json()["heap"]["recording"]
        self.ask("GET /recordings/{id}/heap", f"/recordings/{second}/heap?diff={whole['recording']}")

    def doctor(self, of):
        self.ask("GET /doctor", "/doctor" + of + "&durationSeconds=1")
        begun = self.ask("POST /doctor", "/doctor" + of + "&durationSeconds=1", status=202).json()["id"]
        report = f"/doctor/reports/{begun}"
        check(until(lambda: self.ask("GET /doctor/reports/{id}", report).json()["state"] != "running", 60, 0.5), "the examination ends")
        self.ask("GET /doctor/reports")
        self.ask("DELETE /doctor/reports/{id}", report, status=204)
        self.ask("GET /doctor/reports/{id}", report, status=404)

    def missing(self):
        """Answers that are described and were never seen."""
        for path, methods in self.document["paths"].items():
            for method, route in methods.items():
                for status, response in route["responses"].items():
                    for kind in response.get("content", {}):
                        name = f"{method.upper()} {path}"
                        if int(status) < 300 and kind in (JSON, NDJSON, SEQUENCE) and (name, kind) not in self.seen:
                            check(False, f"{name} as {kind} is called here")


def main():
    with Serve() as serve:
        walk = Walk(serve, int(sys.argv[1]))
        walk.all()
        walk.missing()
        print(f"{len(walk.seen)} answers")
    finish()


main()
