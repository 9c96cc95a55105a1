"""The packages as users get them: a fresh app with two lines, an app that knows nothing of us, a running program, the tool."""
import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLRSCOPE = ROOT / "build/release/bin/clrscope"
VERSION = (ROOT / "VERSION").read_text().strip()
FEED = ROOT / "build/packages"
LIMIT = 60  # seconds


@functools.cache
def feed():
    """The folder with the packages; made anew when the program is newer."""
    package = FEED / f"Clrscope.AspNetCore.{VERSION}.nupkg"
    if not package.is_file() or package.stat().st_mtime < CLRSCOPE.stat().st_mtime:
        subprocess.run([ROOT / "tools/pack_dotnet"], check=True, stdout=subprocess.DEVNULL)
    return FEED


def dotnet(folder, *words):
    # Packages of its own: one of this version may be in the user's, of an earlier build.
    environment = {**os.environ, "NUGET_PACKAGES": f"{folder}/.packages"}
    done = subprocess.run(["dotnet", *words], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"dotnet {' '.join(words)}:\n{done.stdout}{done.stderr}")


def until(true, what):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not in time: {what}")


def get(url, **fields):
    """Status and body; a refusal is an answer like any other."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in fields.items()})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


@contextlib.contextmanager
def running(command, log, **variables):
    """A process and the address that it says it listens on."""
    with open(log, "w") as out:
        app = subprocess.Popen([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **variables})
    try:
        address = until(lambda: re.search(r"http://127\.0\.0\.1:\d+", pathlib.Path(log).read_text()) or app.poll() is not None, "the app listens")
        if address is True:
            raise AssertionError(pathlib.Path(log).read_text())
        yield app, address.group()
    finally:
        app.kill()
        app.wait()


class FreshApp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        home = pathlib.Path(cls.folder.name)
        dotnet(home, "new", "web", "-o", "app", "--no-restore")
        publish = ("publish", "app", "-c", "Release", "--nologo", "-v", "q", "--disable-build-servers", "-p:NuGetAudit=false", "-o")
        dotnet(home, *publish, "plain")
        # What a user does: the package from a folder feed, and two lines.
        (home / "nuget.config").write_text(f'<configuration><packageSources><add key="clrscope" value="{feed()}" /></packageSources></configuration>')
        project = home / "app/app.csproj"
        project.write_text(project.read_text().replace("</Project>", f'  <ItemGroup><PackageReference Include="Clrscope.AspNetCore" Version="{VERSION}" /></ItemGroup>\n</Project>'))
        program = home / "app/Program.cs"
        text = program.read_text()
        text = text.replace("var app =", "builder.Services.AddClrscope();\nvar app =").replace("app.Run();", 'app.MapClrscope("/clrscope");\napp.Run();')
        program.write_text(text)
        dotnet(home, *publish, "ours")
        cls.home = home

    def app(self, kind, **variables):
        return running(["dotnet", self.home / kind / "app.dll", "--urls", "http://127.0.0.1:0"], self.home / f"{self.id()}.log", **variables)

    def test_two_lines_show_the_app(self):
        with self.app("ours") as (app, address):
            self.assertEqual((200, b"Hello World!"), get(address))
            status, processes = get(f"{address}/clrscope/processes")
            self.assertEqual((200, [app.pid]), (status, [p["pid"] for p in json.loads(processes)]))
            status, page = get(f"{address}/clrscope/", Accept="text/html")
            self.assertEqual(200, status)
            self.assertIn(b'="/clrscope/', page)

    def test_stacks_of_the_app_come_through_the_app(self):
        with self.app("ours") as (app, address):
            status, text = get(f"{address}/clrscope/stacks", Accept="text/plain")
            self.assertEqual(200, status)
            self.assertIn(b"Microsoft.AspNetCore", text)

    def test_a_trace_through_the_app_is_whole(self):
        oracle = subprocess.run([ROOT / "tools/publish_oracle"], check=True, capture_output=True, text=True).stdout.strip()
        with self.app("ours") as (app, address):
            began, first = time.monotonic(), None
            trace = self.home / "x.nettrace"
            with urllib.request.urlopen(f"{address}/clrscope/trace?durationSeconds=3", timeout=LIMIT) as answer, open(trace, "wb") as file:
                while piece := answer.read1(65536):
                    first = first or time.monotonic() - began
                    file.write(piece)
            whole = time.monotonic() - began
            self.assertGreater(whole, 2.5)
            self.assertLess(first, whole - 1, "the trace was collected before any of it was passed on")
            summary = json.loads(subprocess.run([oracle, "summary", trace], check=True, capture_output=True, text=True).stdout)
            self.assertGreater(sum(event["count"] for event in summary["byEvent"]), 10)

    def test_startup_hook_finds_hosts_that_take_no_hosting_startup(self):
        samples = subprocess.run([ROOT / "tools/publish_samples"], check=True, capture_output=True, text=True).stdout.strip()
        with zipfile.ZipFile(feed() / f"Clrscope.AspNetCore.{VERSION}.nupkg") as package:
            package.extractall(self.home / "for_samples")
        for framework in ("net8.0", "net9.0", "net10.0"):
            # Built by CreateEmptyBuilder, and self-contained.
            with self.subTest(framework), running([f"{samples}/{framework}/samples", "web"], self.home / f"{framework}.log",
                                                  DOTNET_STARTUP_HOOKS=str(self.home / "for_samples/lib/net8.0/Clrscope.AspNetCore.dll")) as (app, address):
                status, processes = get(f"{address}/clrscope/processes")
                self.assertEqual((200, [app.pid]), (status, [p["pid"] for p in json.loads(processes)]))
                self.assertEqual(200, get(f"{address}/plaintext")[0])

    def test_startup_hook_puts_it_into_an_app_that_knows_nothing_of_it(self):
        with zipfile.ZipFile(feed() / f"Clrscope.AspNetCore.{VERSION}.nupkg") as package:
            package.extractall(self.home / "package")
        hook = self.home / "package/lib/net8.0/Clrscope.AspNetCore.dll"
        with self.app("plain", DOTNET_STARTUP_HOOKS=str(hook), CLRSCOPE_PATH="/ops/scope") as (app, address):
            self.assertEqual((200, b"Hello World!"), get(address))
            status, processes = get(f"{address}/ops/scope/processes")
            self.assertEqual((200, [app.pid]), (status, [p["pid"] for p in json.loads(processes)]))
            self.assertEqual(403, get(f"{address}/ops/scope/processes", X_Forwarded_For="10.1.2.3")[0])
            self.assertEqual(404, get(f"{address}/clrscope/processes")[0])

    def test_hosting_startup_does_too(self):
        store = self.home / f"store/x64/net10.0/clrscope.aspnetcore/{VERSION}"
        with zipfile.ZipFile(feed() / f"Clrscope.AspNetCore.{VERSION}.nupkg") as package:
            package.extractall(store)
        name, framework = f"Clrscope.AspNetCore/{VERSION}", ".NETCoreApp,Version=v8.0"
        deps = {"runtimeTarget": {"name": framework}, "targets": {framework: {name: {"runtime": {"lib/net8.0/Clrscope.AspNetCore.dll": {}}}}},
                "libraries": {name: {"type": "package", "serviceable": False, "sha512": "", "path": f"clrscope.aspnetcore/{VERSION}"}}}
        (self.home / "Clrscope.deps.json").write_text(json.dumps(deps))
        with self.app("plain", ASPNETCORE_HOSTINGSTARTUPASSEMBLIES="Clrscope.AspNetCore", DOTNET_ADDITIONAL_DEPS=str(self.home / "Clrscope.deps.json"),
                      DOTNET_SHARED_STORE=str(self.home / "store")) as (app, address):
            status, processes = get(f"{address}/clrscope/processes")
            self.assertEqual((200, [app.pid]), (status, [p["pid"] for p in json.loads(processes)]))

    def test_enable_opens_it_in_an_app_that_has_it_already(self):
        with self.app("ours") as (app, address):
            done = subprocess.run([CLRSCOPE, "enable", "-p", str(app.pid), "--json"], capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertTrue(json.loads(done.stdout)["inside"])
            self.assertEqual(200, get(f"{address}/clrscope/processes")[0])
            subprocess.run([CLRSCOPE, "disable", "-p", str(app.pid)], check=True, capture_output=True)
            self.assertEqual(200, get(f"{address}/clrscope/processes")[0])


class ProgramWithoutAspNet(unittest.TestCase):
    """Clrscope.Tests itself: a console program, for each runtime that tools/dotnet_tests has built it for."""

    def test_enable_starts_a_controller_that_listens_itself(self):
        programs = sorted(ROOT.glob("build/dotnet/bin/Clrscope.Tests/release_*_linux-x64/Clrscope.Tests"))
        self.assertTrue(programs, "run tools/dotnet_tests first")
        for program in programs:
            with self.subTest(program.parent.name), tempfile.TemporaryDirectory() as folder:
                app = subprocess.Popen([program, "--tell"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder})
                try:
                    pid = app.stdout.readline().split()[1]
                    done = subprocess.run([CLRSCOPE, "enable", "-p", pid, "--json"], capture_output=True, text=True)
                    self.assertEqual(0, done.returncode, done.stderr)
                    opened = json.loads(done.stdout)
                    self.assertFalse(opened["inside"])
                    self.assertEqual(401, get(f"{opened['urls'][0]}/processes")[0])
                    # Browsers know names below localhost, programs need not.
                    link = urllib.parse.urlsplit(opened["open"])
                    self.assertRegex(link.netloc, r"^clrscope-\w+\.localhost:\d+$")
                    visit = http.client.HTTPConnection("127.0.0.1", link.port, timeout=LIMIT)
                    visit.request("GET", f"{link.path}?{link.query}", headers={"Host": link.netloc})
                    home = visit.getresponse()
                    home.read()
                    self.assertEqual(303, home.status)
                    cookie = home.getheader("Set-Cookie").split(";")[0]
                    visit.request("GET", "/processes", headers={"Host": link.netloc, "Cookie": cookie})
                    self.assertEqual([int(pid)], [p["pid"] for p in json.load(visit.getresponse())])
                    closed = json.loads(subprocess.run([CLRSCOPE, "disable", "-p", pid, "--json"], check=True, capture_output=True, text=True).stdout)
                    self.assertTrue(closed["wasOpen"])
                    self.assertFalse(os.path.exists(f"/proc/{opened['controllerPid']}"))
                    self.assertIsNone(app.poll())
                finally:
                    app.send_signal(signal.SIGKILL)
                    app.communicate()


class Tool(unittest.TestCase):
    def test_is_installed_from_a_folder_feed_and_runs(self):
        for name in ("clrscope", "clrscope.portable"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "nuget.config").write_text(f'<configuration><packageSources><clear /><add key="clrscope" value="{feed()}" /></packageSources></configuration>')
                dotnet(folder, "tool", "install", name, "--tool-path", "tools", "--configfile", "nuget.config")
                said = subprocess.run([f"{folder}/tools/clrscope", "version"], check=True, capture_output=True, text=True).stdout
                self.assertEqual(f"clrscope {VERSION}\n", said)
                wrong = subprocess.run([f"{folder}/tools/clrscope", "nonsense"], capture_output=True)
                self.assertEqual(3, wrong.returncode)


if __name__ == "__main__":
    unittest.main()
