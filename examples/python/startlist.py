"""A Startlist service for applications in Python. Needs only the standard library. Copy it, and read README.md beside it."""
import base64, contextlib, email.utils, hashlib, hmac, json, os, secrets, sqlite3, time
import urllib.error, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler

STARTLIST_URL, REDIRECT_URI = os.environ["STARTLIST_URL"], os.environ["REDIRECT_URI"]
CREDENTIALS = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}


class Refused(Exception):
    """The service refused the request. A retry does not help."""


def connect(path):
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    database.execute("CREATE TABLE IF NOT EXISTS tokens (user_id INTEGER PRIMARY KEY, access TEXT, refresh TEXT, expires_at INTEGER, key TEXT, service_user INTEGER, since INTEGER)")
    database.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body TEXT, object TEXT, sequence INTEGER, handled INTEGER DEFAULT 0)")
    return database


def are_equal(given, known):
    """Compares in constant time. A stranger may give any characters."""
    return hmac.compare_digest(given.encode(), known.encode())


def start_authorization(scope="profile:read read"):
    """Returns the address for the browser, and the values to store in the user's session."""
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    digest = hashlib.sha256(verifier.encode()).digest()
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": CREDENTIALS["client_id"], "redirect_uri": REDIRECT_URI,
        "scope": scope, "state": state, "code_challenge_method": "S256",
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
    })
    return {"url": f"{STARTLIST_URL}/oauth/authorize?{query}", "state": state, "verifier": verifier}


def post(path, body, headers={}):
    """Returns the answer, and its time by the clock of the service."""
    request = urllib.request.Request(STARTLIST_URL + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response), email.utils.parsedate_to_datetime(response.headers["Date"]).timestamp()
    except urllib.error.HTTPError as error:
        if error.code == 429 or error.code >= 500:
            raise
        raise Refused(error.read().decode())


def ask_for_tokens(key, **parameters):
    """Returns tokens. If the answer is lost, repeat the request with the same key."""
    tokens, date = post("/oauth/token", urllib.parse.urlencode({**CREDENTIALS, **parameters}).encode(), {"Idempotency-Key": key})
    tokens["expires_in"] -= max(0, date - tokens["created_at"])  # a repeated answer may be 10 minutes old
    return tokens


def finish_authorization(back, state, verifier):
    """Exchanges the code. `back` is the address to which the browser was sent."""
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    if not are_equal(answer.get("state", ""), state):
        raise Refused("this redirect does not belong to this session")
    if "code" not in answer:
        raise Refused(answer.get("error"))
    tokens = ask_for_tokens(state, grant_type="authorization_code", code=answer["code"], redirect_uri=REDIRECT_URI, code_verifier=verifier)
    described, _ = post("/oauth/introspect", urllib.parse.urlencode({**CREDENTIALS, "token": tokens["access_token"]}).encode())
    if not described["active"]:
        raise Refused("the access has ended")
    return {**tokens, "user_id": int(described["sub"])}  # the number by which events name the user


def keep(database, user_id, tokens):
    """Stores the tokens of a user who has just connected, unless there are newer ones: two windows can arrive in any order."""
    row = (user_id, tokens["access_token"], tokens["refresh_token"], time.time() + tokens["expires_in"], tokens["user_id"], tokens["created_at"])
    is_newer = "NOT EXISTS (SELECT 1 FROM tokens WHERE user_id = ?1 AND since > ?6)"
    database.execute(f"INSERT OR REPLACE INTO tokens SELECT ?1, ?2, ?3, ?4, NULL, ?5, ?6 WHERE {is_newer}", row)


def forget(database, event):
    """Deletes the tokens of a user who has revoked the access, but not those of a later connection."""
    database.execute("DELETE FROM tokens WHERE service_user = ? AND since <= ?", (event["object_id"], event["event_time"]))


def access_token(database, user_id):
    """Returns a valid access token, or None if the user must connect again. Several workers can call it."""
    find = "SELECT access, refresh, expires_at, key FROM tokens WHERE user_id = ?"
    # The key is stored before the request is sent: after a crash, the next worker sends the same request.
    database.execute("UPDATE tokens SET key = ? WHERE user_id = ? AND key IS NULL AND expires_at < ?",
                     (secrets.token_urlsafe(32), user_id, time.time() + 60))
    database.execute("BEGIN IMMEDIATE")  # the lock: one worker at a time, all others wait
    try:
        row = database.execute(find, (user_id,)).fetchone()
        if row is None:
            return None
        access, refresh, expires_at, key = row
        if key is None or expires_at > time.time() + 60:
            return access
        try:
            tokens = ask_for_tokens(key, grant_type="refresh_token", refresh_token=refresh)
        except Refused as refused:
            if '"invalid_grant"' not in str(refused):
                raise
            database.execute("DELETE FROM tokens WHERE user_id = ?", (user_id,))
            return None
        row = (tokens["access_token"], tokens["refresh_token"], time.time() + tokens["expires_in"], user_id)
        database.execute("UPDATE tokens SET access = ?, refresh = ?, expires_at = ?, key = NULL WHERE user_id = ?", row)
        return tokens["access_token"]
    finally:
        database.execute("COMMIT")


def revoke(token):
    post("/oauth/revoke", urllib.parse.urlencode({**CREDENTIALS, "token": token}).encode())


def subscribe(token, callback_url, verify_token):
    """`token` is an access token of a platform user."""
    body = {"webhook_subscription": {"callback_url": callback_url, "verify_token": verify_token}}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return post("/api/v1/webhook_subscription", json.dumps(body).encode(), headers)[0]


def is_authentic(headers, body, signing_secret):
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or len(timestamp) > 12 or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(signing_secret.removeprefix("whsec_"))
    signed = f"{headers.get('webhook-id')}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(are_equal(one, expected) for one in headers.get("webhook-signature", "").split())


def process(database, handle):
    """Passes stored events to `handle`, oldest first, and whether each is late. Call it in one process at a time."""
    waiting = database.execute("SELECT id, body, object, sequence FROM events WHERE NOT handled ORDER BY rowid").fetchall()
    for id, body, about, sequence in waiting:
        event = json.loads(body)
        if event.get("aspect_type") == "deleted":
            forget(database, event)
        newest = database.execute("SELECT max(sequence) FROM events WHERE handled AND object = ?", (about,)).fetchone()[0]
        handle(event, None not in (newest, sequence) and sequence < newest)
        database.execute("UPDATE events SET handled = 1 WHERE id = ?", (id,))


class Callback(BaseHTTPRequestHandler):
    """For http.server.ThreadingHTTPServer. Set the three attributes before you start it."""

    path_to_database = verify_token = signing_secret = ""
    timeout = 10  # seconds to wait for a part of a request: a stranger who sends nothing must not keep a thread

    def answer(self, status, body=b"", content_type="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if not are_equal(asked.get("hub.verify_token", ""), self.verify_token):
            return self.answer(403)
        self.answer(200, json.dumps({"hub.challenge": asked.get("hub.challenge")}).encode())

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 7 or int(length) > 1_048_576:  # anybody can send a body: read no endless one
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_authentic(self.headers, body, self.signing_secret):
            return self.answer(401)
        event = json.loads(body)
        sequence = self.headers.get("startlist-sequence")  # an event that is signed by hand may have none
        row = (self.headers["webhook-id"], body.decode(), f"{event['object_type']} {event['object_id']}", sequence and int(sequence))
        with contextlib.closing(connect(self.path_to_database)) as database:
            database.execute("INSERT OR IGNORE INTO events (id, body, object, sequence) VALUES (?, ?, ?, ?)", row)
        self.answer(200)
