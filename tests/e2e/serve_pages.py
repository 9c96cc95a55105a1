#!/usr/bin/env python3
"""What browsers, people without scripts and programs get for the addresses of pages: serve_pages.py PID"""
import html
import re
import sys

from serve_kit import Serve, check, finish

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}


def is_shell(answer, base=""):
    return f'<html lang="en" data-base="{base}" data-version=' in answer.text and '<div id="app"></div>' in answer.text


def shell(serve, key, pid):
    for path in ("/", "/overview", "/stacks", f"/stacks?pid={pid}", "/flame", "/doctor/reports/none", "/views/gc", "/audit", "/api"):
        page = serve.ask(path, key=key, headers=BROWSER)
        check(page.status == 200 and is_shell(page), f"{path} is a page: {page.status} {page.text[:100]}")
        check(page.headers["Content-Type"].startswith("text/html"), f"{path} is HTML: {page.headers['Content-Type']}")
        check("script-src 'self';" in page.headers["Content-Security-Policy"], f"{path} has the policy")
    for asset in re.findall(r'(?:href|src)="(/assets/[^"]*)"', page.text):
        got = serve.ask(asset)
        check(got.status == 200 and "immutable" in got.headers["Cache-Control"], f"{asset}: {got.status} {got.headers['Cache-Control']}")
    for path in ("/nowhere", "/stacks/nowhere", "/doctor/reports/a/b"):
        page, told = serve.ask(path, key=key, headers=BROWSER), serve.ask(path, key=key)
        check(page.status == 404 and is_shell(page), f"{path} is a page that says so: {page.status} {page.text[:100]}")
        check(told.status == 404 and told.headers["Content-Type"] == "application/problem+json", f"programs get a problem: {told.text[:100]}")
    check(serve.ask("/assets/templates/index.html", headers=BROWSER).status == 404, "templates are not files of the app")


def text(serve, key, pid):
    """The link of the notice for browsers without scripts."""
    def link(path):
        notice = re.search(r"<noscript>(.*)</noscript>", serve.ask(path, key=key, headers=BROWSER).text, re.S)[1]
        check("<main>" in notice and "<h1>" in notice and "JavaScript" in notice, f"{path} says that it needs a script: {notice}")
        return html.unescape(re.search(r'href="([^"]*)"', notice)[1])
    stacks = serve.ask(link(f"/stacks?pid={pid}"), key=key, headers=BROWSER, timeout=60)
    check(stacks.status == 200 and stacks.headers["Content-Type"].startswith("text/plain") and "Burn" in stacks.text,
          f"stacks without a script: {stacks.status} {stacks.text[:200]}")
    for path in ("/sessions", "/recordings"):
        listed = serve.ask(link(path), key=key, headers=BROWSER)
        check(listed.status == 200 and listed.headers["Content-Type"].startswith("text/plain") and listed.text,
              f"{path} without a script: {listed.status} {listed.text[:100]}")
    found = serve.ask(link("/"), key=key, headers=BROWSER, timeout=60)
    check(found.status == 200 and re.search(rf"\b{pid}\b", found.text), f"/ leads to the processes: {found.text[:200]}")


def accept(serve, key, pid):
    for kind, begin in (("text/plain", ""), ("application/json", "{"), ("application/speedscope+json", "{"),
                        ("application%2Fspeedscope%2Bjson", "{")):
        answer = serve.ask(f"/stacks?accept={kind}&pid={pid}", key=key, headers=BROWSER, timeout=60)
        wanted = kind.replace("%2F", "/").replace("%2B", "+")
        check(answer.status == 200 and answer.headers["Content-Type"].startswith(wanted) and answer.text.startswith(begin),
              f"accept={kind}: {answer.status} {answer.headers['Content-Type']} {answer.text[:100]}")
    check(is_shell(serve.ask("/stacks?accept=text/html", key=key, headers={"Accept": "application/json"})), "accept=text/html asks for the page")
    refused = serve.ask("/processes?accept=image/png", key=key)
    check(refused.status == 406, f"accept=image/png is refused: {refused.status}")


def scopes(serve):
    """A page needs someone who is known, whatever they may do: what they may not have, the data routes refuse."""
    metrics = serve.key("metrics")["key"]
    serve.keys_known()
    check(is_shell(serve.ask("/audit", key=metrics, headers=BROWSER)), "a page needs no scope")
    check(serve.ask("/audit", key=metrics).status == 403, "its data do")
    for path in ("/stacks?pid=7", "/nowhere"):
        page = serve.ask(path, headers=BROWSER)
        check(page.status == 401 and f'name="next" value="{path}"' in page.text and not is_shell(page),
              f"{path}: who is not known signs in: {page.status} {page.text[:200]}")
    again = serve.ask("/sign-in?next=/doctor%3Fpid=7", headers=BROWSER)
    check(again.status == 200 and 'name="next" value="/doctor?pid=7"' in again.text, f"the form knows where to go on: {again.text}")


def below(pid):
    with Serve("--base-path", "/scope") as serve:
        key = serve.key("admin")["key"]
        serve.keys_known()
        page = serve.ask(f"/scope/stacks?pid={pid}", key=key, headers=BROWSER)
        check(is_shell(page, "/scope"), f"the app knows its base path: {page.text[:200]}")
        links = re.findall(r'(?:href|src)="([^"]*)"', page.text)
        check(links and all(link.startswith("/scope/") for link in links), f"so does every link: {links}")
        form = serve.ask(f"/scope/stacks?pid={pid}", headers=BROWSER).text
        check('action="/scope/sign-in/key"' in form and f'value="/stacks?pid={pid}"' in form, f"and the form: {form}")
        host = {"Host": serve.pages, "Origin": f"http://{serve.pages}", "Content-Type": "application/x-www-form-urlencoded"}
        after = serve.ask("/scope/sign-in/key", "POST", body=f"key={key}&next=/stacks", headers=host)
        check(after.status == 303 and after.headers["Location"] == "/scope/stacks", f"which leads back: {after.status} {after.headers['Location']}")


with Serve() as serve:
    key = serve.key("admin")["key"]
    serve.keys_known()
    shell(serve, key, sys.argv[1])
    text(serve, key, sys.argv[1])
    accept(serve, key, sys.argv[1])
    scopes(serve)
below(sys.argv[1])
finish()
