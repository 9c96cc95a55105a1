#!/usr/bin/env python3
"""Today's ClickHouse engine behind ClickHouse's HTTP interface, for one client at a time.

    chdb_server.py LIBRARY FOLDER

LIBRARY is libchdb.so (npm: @chdb/lib-linux-x64-gnu), the engine without its server; Debian's server is of 2018. Prints the port on
loopback and answers until it is killed. Statements run one after the other, with the settings of the address.
"""
import ctypes
import http.server
import pathlib
import re
import sys
import threading
import urllib.parse

ROWS = re.compile(rb"(INSERT INTO .*?) FORMAT RowBinary\n", re.DOTALL)
NO_SETTINGS = {"database", "default_format", "query_id", "readonly", "wait_end_of_query"}


class Engine:
    def __init__(self, library, folder):
        self.lib = ctypes.CDLL(library)
        self.lib.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
        self.lib.chdb_query_n.restype = ctypes.c_void_p
        self.lib.chdb_query_n.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        for name, kind in (("buffer", ctypes.c_void_p), ("length", ctypes.c_size_t), ("error", ctypes.c_char_p)):
            function = getattr(self.lib, f"chdb_result_{name}")
            function.restype, function.argtypes = kind, [ctypes.c_void_p]
        self.lib.chdb_destroy_query_result.argtypes = [ctypes.c_void_p]
        words = [b"clickhouse", f"--path={folder}".encode()]
        self.connection = self.lib.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words))
        self.rows = pathlib.Path(folder) / "rows"
        self.lock = threading.Lock()

    def one(self, sql, form):
        result = self.lib.chdb_query_n(self.connection[0], sql, len(sql), form, len(form))
        try:
            if error := self.lib.chdb_result_error(result):
                raise RuntimeError(error.decode(errors="replace"))
            length = self.lib.chdb_result_length(result)
            return ctypes.string_at(self.lib.chdb_result_buffer(result), length) if length else b""
        finally:
            self.lib.chdb_destroy_query_result(result)

    def ask(self, sql, settings):
        with self.lock:
            self.one(f"USE {settings.get('database', 'default')}".encode(), b"Null")
            for name, value in settings.items():
                if name not in NO_SETTINGS:
                    self.one(f"SET {name} = '{value}'".encode(), b"Null")
            if insert := ROWS.match(sql):  # rows behind a statement lose blanks at their end
                self.rows.write_bytes(sql[insert.end():])
                sql = insert[1] + f" FROM INFILE '{self.rows}' FORMAT RowBinary".encode()
            return self.one(sql, settings.get("default_format", "TabSeparated").encode())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = None

    def do_POST(self):
        sql = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        settings = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        try:
            status, body = 200, self.engine.ask(sql, settings)
        except RuntimeError as error:
            status, body = 500, str(error).encode()
            print(f"{error}\n  {sql[:3000]}", file=sys.stderr, flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    Handler.engine = Engine(sys.argv[1], sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
