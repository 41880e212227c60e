"""Calls functions of the guide's module, one JSON line after the other: ["name", arguments] in, {"value"} or {"error"} out."""
import json, sys, threading, urllib.error
from http.server import ThreadingHTTPServer

sys.path.insert(0, sys.argv[1])
import startlist

database = startlist.connect(sys.argv[2])


def serve(verify_token):
    startlist.Callback.path_to_database = sys.argv[2]
    startlist.Callback.verify_token = verify_token
    startlist.Callback.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), startlist.Callback)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/callback"


def know(signing_secret):
    startlist.Callback.signing_secret = signing_secret


def events():
    return database.execute("SELECT id, body FROM events ORDER BY id").fetchall()


def process():
    handled = []
    startlist.process(database, lambda event, is_late: handled.append((event["object_id"], is_late)))
    return handled


def forget_expiry(user_id):
    database.execute("UPDATE tokens SET expires_at = 0 WHERE user_id = ?", (user_id,))


own = {"serve": serve, "know": know, "events": events, "process": process, "forget_expiry": forget_expiry}
with_database = {"keep", "access_token", "forget"}

for line in sys.stdin:
    name, arguments = json.loads(line)
    function = own.get(name) or getattr(startlist, name)
    try:
        value = {"value": function(*([database] if name in with_database else []), *arguments)}
    except startlist.Refused as error:
        value = {"error": str(error)}
    except urllib.error.HTTPError as error:
        value = {"error": f"a later retry may help: {error}"}
    print(json.dumps(value), flush=True)
