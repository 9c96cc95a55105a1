"""Every verb and every route, with what it reads of a target. One that is missing here fails the test."""
import dataclasses


@dataclasses.dataclass
class Form:
    """One command line or request. {pid}, {name}, {out} and {file} are filled in."""
    words: list
    reads: tuple = ()
    needs: tuple = ()  # without these it must fail
    alone: bool = False  # not beside another that stops threads or writes files in the same target
    method: str = "GET"
    body: str = ""
    accept: str = "*/*"


FIND = ("find", "info", "port")
STREAM = (*FIND, "session")
MEMORY = (*FIND, "image")


def verb(*forms):
    return list(forms)


# A verb that touches no target is run once, while the hostile processes are there.
VERBS = {
    "ps": verb(Form(["ps"], (*FIND, "image")), Form(["ps", "--json"], (*FIND, "image"))),
    "check": verb(Form(["check", "-p", "{pid}"], (*FIND, "image")), Form(["check", "-p", "{pid}", "--json"], FIND)),
    "doctor": verb(Form(["doctor", "-p", "{pid}", "--duration", "1s"], (*MEMORY, "session", "config"), alone=True),
                   Form(["doctor", "-p", "{pid}", "--duration", "1s", "--format", "html"], ("session", "image"), alone=True),
                   Form(["doctor", "-p", "{pid}", "--watch", "--interval", "1s", "--duration", "2s", "--json"], (*MEMORY, "config"), alone=True),
                   Form(["doctor", "-a", "--duration", "1s", "--max-time", "10s", "--json"])),
    "collect": verb(Form(["collect", "-p", "{pid}", "--duration", "1s", "-o", "{out}/a.nettrace"], (*STREAM, "image")),
                    Form(["collect", "-p", "{pid}", "--duration", "1s", "--profile", "gc-verbose", "-o", "{out}/b.nettrace", "--json"], STREAM,
                         needs=("port", "session")),
                    Form(["collect", "-p", "{pid}", "--duration", "1s", "--profile", "gc-verbose", "--last", "1s", "-o", "{out}/c.nettrace"],
                         ("session",), needs=("session",))),
    "flame": verb(Form(["flame", "-p", "{pid}", "--duration", "1s", "-o", "{out}/f.html"], (*STREAM, "image")),
                  Form(["flame", "{file}", "-o", "{out}/f.html"], ("file",)),
                  Form(["flame", "{file}", "--route", "GET /", "-o", "{out}/f.json"], ("file",))),
    "top": verb(Form(["top", "-p", "{pid}", "--duration", "1s"], (*STREAM, "image")),
                Form(["top", "-p", "{pid}", "--duration", "1s", "--json"], ("find", "session"))),
    "report": verb(*(Form(["report", "{file}", kind], ("file",)) for kind in
                     ("overview", "events", "topn", "gc", "exceptions", "contention", "processes")), Form(["report", "{file}", "--json"], ("file",))),
    "convert": verb(*(Form(["convert", "{file}", "--format", kind, "-o", "{out}/c"], ("file",)) for kind in
                      ("speedscope", "chromium", "collapsed", "ndjson", "nettrace", "ctf"))),
    "counters": verb(Form(["counters", "monitor", "-p", "{pid}", "--duration", "2s"], (*STREAM, "image"), needs=("port", "session")),
                     Form(["counters", "collect", "-p", "{pid}", "--duration", "2s", "-o", "{out}/c.csv"], ("session",), needs=("session",)),
                     Form(["counters", "list", "-p", "{pid}"], (*STREAM, "image"))),
    "events": verb(Form(["events", "-p", "{pid}", "--duration", "1s"], STREAM, needs=("port", "session")),
                   Form(["events", "-p", "{pid}", "--duration", "1s", "--json"], ("session",), needs=("session",))),
    "forward": verb(Form(["forward", "-p", "{pid}", "--duration", "2s", "--to", "ndjson:{out}/f.ndjson"], STREAM),
                    Form(["forward", "-n", "{name}", "--counters", "System.Runtime", "--duration", "2s", "--to", "file:{out}/f.nettrace"], ("session",)),
                    Form(["forward", "--status"], ())),
    "stacks": verb(Form(["stacks", "-p", "{pid}"], MEMORY, alone=True),
                   Form(["stacks", "-p", "{pid}", "--native", "--lines", "--json"], ("find", "image"), alone=True),
                   Form(["stacks", "-p", "{pid}", "--async"], ("find", "image"), alone=True),
                   Form(["stacks", "-p", "{pid}", "--requests"], ("find", "image"), alone=True)),
    "heap": verb(Form(["heap", "-p", "{pid}"], (*STREAM, "image"), alone=True),
                 Form(["heap", "-p", "{pid}", "--strings", "--json"], ("find", "session", "image"), alone=True),
                 Form(["heap", "{file}"], ("file",))),
    "dump": verb(Form(["dump", "-p", "{pid}", "-o", "{out}/d.dmp"], (*FIND, "dump", "image"), needs=("port", "dump"), alone=True)),
    "serve": verb(),  # the routes
    "enable": verb(Form(["enable", "-p", "{pid}"], (*FIND, "hook"), needs=("port", "hook"), alone=True)),
    "disable": verb(Form(["disable", "-p", "{pid}"], (*FIND, "hook"), alone=True)),
    "attach": verb(Form(["attach", "-p", "{pid}"], FIND, alone=True)),
    "detach": verb(Form(["detach", "-p", "{pid}"], FIND, alone=True)),
    "agent": verb(Form(["agent", "status", "-p", "{pid}"], FIND), Form(["agent", "exceptions", "-p", "{pid}", "--duration", "1s"], FIND, alone=True),
                  Form(["agent", "survivors", "-p", "{pid}", "--duration", "1s"], FIND, alone=True), Form(["agent", "list"]),
                  Form(["agent", "runtime", "-p", "{pid}", "--duration", "1s", "--json"], FIND, alone=True),
                  Form(["agent", "stacks", "-p", "{pid}", "--json"], FIND, alone=True)),
    "requests": verb(Form(["requests", "-p", "{pid}", "--include", "Shop", "--duration", "1s", "--json"], (*FIND, "hook"), alone=True)),
    # It reads no target; what hosts send it is the subject of tests/fleet.
    "fleet": verb(Form(["fleet", "token", "--token-file", "{out}/tokens", "--name", "web-1", "--scope", "ingest"])),
    "key": verb(Form(["key", "list", "--folder", "{out}/state"])),
    "list-profiles": verb(Form(["list-profiles"])),
    "version": verb(Form(["version"])),
}


def get(path, *reads, accept="*/*", **more):
    return Form([path], reads, accept=accept, **more)


PID = "?pid={pid}"
SHORT = PID + "&durationSeconds=1"
ROUTES = {
    "GET /agent": [get("/agent" + PID, *FIND)],
    "GET /agent/sources": [get("/agent/sources")],
    "POST /agent/sources": [get("/agent/sources" + PID + "&on=exceptions", *FIND, alone=True, method="POST")],
    "POST /agent/attach": [get("/agent/attach" + PID, *FIND, alone=True, method="POST")],
    "POST /agent/detach": [get("/agent/detach" + PID, *FIND, alone=True, method="POST")],
    **{f"GET /agent/{name}": [get(f"/agent/{name}" + SHORT, *FIND, alone=True)] for name in ("exceptions", "contention", "allocations", "survivors", "runtime")},
    "POST /agent/methods": [get("/agent/methods" + SHORT + "&include=Shop", *FIND, alone=True, method="POST")],
    "POST /agent/heap": [get("/agent/heap" + PID, *FIND, alone=True, method="POST")],
    "GET /agent/stacks": [get("/agent/stacks" + PID, *FIND, alone=True)],
    "GET /audit": [get("/audit", accept="text/plain"), get("/audit")],
    "GET /check": [get("/check" + PID, *FIND, "image")],
    "GET /counters": [get("/counters" + PID, *STREAM), get("/counters" + PID, "session", accept="text/plain"),
                      get("/counters" + SHORT, "session", accept="text/event-stream")],
    "GET /counters/{provider}": [get("/counters/System.Runtime" + PID, *STREAM)],
    "GET /counters/{provider}/{name}": [get("/counters/System.Runtime/cpu-usage" + PID, *STREAM)],
    "GET /doctor": [get("/doctor" + SHORT, *MEMORY, "session", "config", alone=True),
                    get("/doctor" + SHORT, "session", "image", alone=True, accept="text/plain")],
    "POST /doctor": [get("/doctor" + SHORT, "image", "config", alone=True, method="POST")],
    "GET /doctor/findings": [get("/doctor/findings")],
    "GET /doctor/reports": [get("/doctor/reports")],
    "GET /doctor/reports/{id}": [get("/doctor/reports/none")],
    "GET /doctor/reports/{id}/report.html": [get("/doctor/reports/none/report.html")],
    "DELETE /doctor/reports/{id}": [get("/doctor/reports/none", method="DELETE")],
    "GET /dump": [get("/dump" + PID + "&type=Mini", *FIND, "dump", "image", needs=("port", "dump"), alone=True)],
    "GET /env": [get("/env" + PID, *FIND, "env", needs=("port", "env"))],
    "GET /exceptions": [get("/exceptions" + PID + "&limit=5", *STREAM), get("/exceptions" + PID + "&limit=5", "session", accept="text/plain")],
    "POST /exceptions": [get("/exceptions" + PID + "&limit=5", "session", method="POST", body="{}")],
    "GET /flame": [get("/flame?recording={recording}", "file"), get("/flame?recording={recording}&route=GET%20/", "file")],
    "GET /formats": [get("/formats")],
    "GET /gcdump": [get("/gcdump" + PID, *STREAM, "image", alone=True)],
    "GET /health/live": [get("/health/live")],
    "GET /health/ready": [get("/health/ready")],
    "GET /heap": [get("/heap" + PID, *STREAM, "image", alone=True), get("/heap" + PID, "session", "image", alone=True, accept="text/plain")],
    "GET /info": [get("/info")],
    "GET /live": [get("/live" + SHORT + "&topics=counters,gc,exceptions,logs", *STREAM),
                  get("/live" + SHORT + "&topics=events&providers=Microsoft-Windows-DotNETRuntime:gc:4", "session")],
    "GET /live/status": [get("/live/status")],
    "GET /livemetrics": [get("/livemetrics" + SHORT, *STREAM)],
    "POST /livemetrics": [get("/livemetrics" + SHORT, "session", method="POST", body='{"includeDefaultProviders":true}')],
    "GET /logs": [get("/logs" + SHORT, *STREAM), get("/logs" + SHORT, "session", accept="text/plain")],
    "POST /logs": [get("/logs" + SHORT, "session", method="POST", body='{"logLevel":"Information"}')],
    "GET /metrics": [get("/metrics", *STREAM)],
    "GET /openapi.json": [get("/openapi.json")],
    "GET /operations": [get("/operations")],
    "GET /operations/{id}": [get("/operations/none")],
    "DELETE /operations/{id}": [get("/operations/none", method="DELETE")],
    "GET /process": [get("/process" + PID, *FIND, "image"), get("/process?name={name}", "find")],
    "GET /processes": [get("/processes", *FIND, "image"), get("/processes", *FIND, accept="text/plain")],
    "GET /profiles": [get("/profiles")],
    "GET /providers": [get("/providers")],
    "GET /recordings": [get("/recordings")],
    "POST /recordings": [get("/recordings?name=hostile.nettrace", "file", method="POST", body="{file}")],
    "GET /recordings/{id}": [get("/recordings/{recording}", "file"), get("/recordings/{recording}?format=ndjson", "file"),
                             get("/recordings/{recording}?format=speedscope", "file")],
    "PATCH /recordings/{id}": [get("/recordings/none", method="PATCH", body='{"name":"a"}')],
    "DELETE /recordings/{id}": [get("/recordings/none", method="DELETE")],
    "GET /recordings/{id}/flame.html": [get("/recordings/{recording}/flame.html", "file")],
    "GET /recordings/{id}/heap": [get("/recordings/{recording}/heap", "file")],
    "GET /recordings/{id}/requests": [get("/recordings/{recording}/requests", "file")],
    "GET /requests": [get("/requests" + SHORT + "&include=Shop", *FIND, "hook", alone=True)],
    "POST /requests": [get("/requests" + SHORT + "&include=Shop", *FIND, "hook", alone=True, method="POST")],
    "GET /requests/runs": [get("/requests/runs")],
    "GET /requests/runs/{id}": [get("/requests/runs/none")],
    "DELETE /requests/runs/{id}": [get("/requests/runs/none", method="DELETE")],
    "POST /requests/runs/{id}/stop": [get("/requests/runs/none/stop", method="POST")],
    "GET /recordings/{id}/report/{kind}": [get("/recordings/{recording}/report/overview", "file"),
                                           get("/recordings/{recording}/report/exceptions", "file", accept="text/plain")],
    "POST /sessions": [get("/sessions" + SHORT, *STREAM, method="POST", body='{"profile":"gc-verbose"}')],
    "GET /sessions": [get("/sessions")],
    "GET /sessions/{id}": [get("/sessions/none")],
    "DELETE /sessions/{id}": [get("/sessions/none", method="DELETE")],
    "POST /sessions/{id}/stop": [get("/sessions/none/stop", method="POST")],
    "GET /sign-in": [get("/sign-in?once=none")],
    "POST /sign-out": [get("/sign-out", method="POST")],
    "GET /views/requests": [get("/views/requests" + PID, *MEMORY, alone=True)],
    "GET /stacks": [get("/stacks" + PID, *MEMORY, alone=True), get("/stacks" + PID, "find", "image", accept="text/plain", alone=True)],
    "GET /status": [get("/status")],
    "GET /trace": [get("/trace" + SHORT, *STREAM, "image"), get("/trace" + SHORT + "&profile=gc-verbose", "session")],
    "POST /trace": [get("/trace" + SHORT, "session", method="POST",
                        body='{"Providers":[{"Name":"Microsoft-Windows-DotNETRuntime","Keywords":"0x1","EventLevel":"Informational"}]}')],
    **{f"GET /views/{name}": [get(f"/views/{name}" + PID, *STREAM), get(f"/views/{name}" + PID, "session", accept="text/plain")]
       for name in ("contention", "exceptions", "gc", "jit", "threadpool", "thread-starts")},
    "GET /watch": [get("/watch", *FIND, "image")],
    "GET /watch/events": [get("/watch/events?durationSeconds=1", *FIND, "image")],
    "GET /watch/{pid}": [get("/watch/{pid}", *MEMORY, "config", alone=True)],
}
