#!/usr/bin/env python3
"""ClickHouse servers for tests: one alone, or shards and replicas with ZooKeeper, all on loopback.

    cluster.py FOLDER [SHARDS REPLICAS]

Starts 2 x 2 (0 0: one server alone), prints the value for --store, and stops everything on Enter, Ctrl+C or SIGTERM.
Needs Debian's clickhouse-server; a cluster also zookeeper. FOLDER holds the configuration, data and logs.
"""
import atexit
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

LIMIT = 120  # seconds for a server to answer
JARS = pathlib.Path("/usr/share/java")

CONFIG = """<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{interserver}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
  <users_config>{folder}/users.xml</users_config><default_profile>default</default_profile>
  <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
  {cluster}
</yandex>
"""
USERS = """<yandex>
  <profiles><default><max_threads>2</max_threads><connect_timeout_with_failover_ms>1000</connect_timeout_with_failover_ms></default></profiles>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
  <quotas><default></default></quotas>
</yandex>
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(condition, what, limit=LIMIT):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise SystemExit(f"FAILED: waited {limit} s: {what}")


def missing(cluster):
    """What is not installed, in words; empty: nothing."""
    if not shutil.which("clickhouse-server"):
        return "clickhouse-server is not installed"
    if cluster and not (shutil.which("java") and (JARS / "zookeeper.jar").exists()):
        return "zookeeper is not installed"
    return ""


class Process:
    """A program that can be killed and started again."""

    def __init__(self, words, folder):
        self.words, self.folder, self.process = words, folder, None
        atexit.register(self.kill)
        self.start()

    def start(self):
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen([str(word) for word in self.words], stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Clickhouse(Process):
    def __init__(self, folder, ports, cluster=""):
        folder.mkdir(parents=True)
        self.http, tcp, interserver = ports
        self.url = f"http://127.0.0.1:{self.http}"
        (folder / "config.xml").write_text(CONFIG.format(folder=folder, http=self.http, tcp=tcp, interserver=interserver, cluster=cluster))
        (folder / "users.xml").write_text(USERS)
        super().__init__(["clickhouse-server", f"--config-file={folder}/config.xml"], folder)

    def answers(self):
        try:
            return self.query("SELECT 1", limit=2) == "1"
        except (OSError, RuntimeError):
            return False

    def wait(self):
        until(lambda: self.answers() or self.process.poll() is not None, f"{self.url} answers")
        if self.process.poll() is not None:
            raise SystemExit(f"FAILED: clickhouse-server ended: {(self.folder / 'out').read_text()[-2000:]}")

    def query(self, sql, limit=60):
        try:
            with urllib.request.urlopen(self.url, sql.encode(), timeout=limit) as answer:
                return answer.read().decode().strip()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None


class Chdb(Clickhouse):
    """Today's engine, as chdb_server.py serves it: one server alone."""

    def __init__(self, folder, library):
        folder.mkdir(parents=True)
        Process.__init__(self, [sys.executable, "-B", pathlib.Path(__file__).parent / "chdb_server.py", library, folder], folder)

    def start(self):
        self.process = subprocess.Popen([str(word) for word in self.words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"


class ZooKeeper(Process):
    def __init__(self, folder, port):
        folder.mkdir(parents=True)
        self.port = port
        (folder / "zoo.cfg").write_text(f"dataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
                                        "admin.enableServer=false\ntickTime=500\nmaxClientCnxns=0\n")
        names = ["zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-nop", "log4j-1.2", "metrics-core", "snappy-java"]
        jars = [JARS / f"{name}.jar" for name in names] + sorted(JARS.glob("netty*.jar"))
        super().__init__(["java", "-Xmx256m", "-cp", ":".join(str(jar) for jar in jars),
                          "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder / "zoo.cfg"], folder)

    def wait(self):
        def listens():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        until(listens, "ZooKeeper listens")


class Cluster:
    def __init__(self, folder, shards=2, replicas=2, library=None):
        folder = pathlib.Path(folder).resolve() / "cluster"
        self.zookeeper, self.nodes = None, []
        if library:
            self.nodes = [Chdb(folder / "alone", library)]
        elif shards == 0:
            self.nodes = [Clickhouse(folder / "alone", free_ports(3))]
        else:
            self.start_cluster(folder, shards, replicas)
        for node in self.nodes:
            node.wait()

    def start_cluster(self, folder, shards, replicas):
        ports = free_ports(3 * shards * replicas + 1)
        self.zookeeper = ZooKeeper(folder / "zookeeper", ports.pop())
        self.zookeeper.wait()
        places = [(shard, replica) for shard in range(shards) for replica in range(replicas)]
        own = {place: [ports.pop(), ports.pop(), ports.pop()] for place in places}
        servers = "".join(
            "<shard><internal_replication>true</internal_replication>"
            + "".join(f"<replica><host>127.0.0.1</host><port>{own[shard, replica][1]}</port></replica>" for replica in range(replicas))
            + "</shard>" for shard in range(shards))
        for shard, replica in places:
            cluster = (f"<zookeeper><node><host>127.0.0.1</host><port>{self.zookeeper.port}</port></node>"
                       "<session_timeout_ms>4000</session_timeout_ms></zookeeper>"
                       f"<macros><cluster>fleet</cluster><shard>{shard}</shard><replica>{replica}</replica></macros>"
                       f"<remote_servers><fleet>{servers}</fleet></remote_servers>")
            self.nodes.append(Clickhouse(folder / f"shard{shard}-replica{replica}", own[shard, replica], cluster))

    def store(self, database="clrscope"):
        return "clickhouse:" + ",".join(f"{node.url}/?database={database}" for node in self.nodes)

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.zookeeper:
            self.zookeeper.kill()


def main():
    shards, replicas = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (2, 2)
    if why := missing(shards > 0):
        raise SystemExit(why)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    cluster = Cluster(sys.argv[1], shards, replicas)
    print(cluster.store(), flush=True)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        pass
    cluster.stop()


if __name__ == "__main__":
    main()
