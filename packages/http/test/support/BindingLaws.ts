/** The laws of all bindings, over real sockets: a suite as a function of the binding. */
import { it } from "@effect/vitest"
import { Http, HttpConfig, Refusal, Router } from "@startlist/http"
import { Deferred, Effect, Layer, Logger, Schema, type Scope } from "effect"
import { type IncomingMessage, request as httpRequest } from "node:http"
import { connect } from "node:net"
import { describe, expect } from "vitest"

export interface Options {
  readonly timeout?: string & `${number} millis`
}

/** Serves the handler on a free port of loopback until the scope closes. Returns the port. */
export type Serve = (handler: Http.Handler, options: Options) => Effect.Effect<
  number,
  never,
  HttpConfig.HttpConfig | Scope.Scope
>

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export const ok = (body: string): Http.Response => ({ status: 200, headers: { "content-type": "text/plain" }, body })

export const echo: Http.Handler = (request) =>
  Effect.succeed(ok(JSON.stringify({ ...request, body: new TextDecoder().decode(request.body) })))

/** Routes that answer requests with `answer` and refusals with their name. `/health` is always served. */
export const answering = (answer: () => Effect.Effect<Http.Response>): Http.Handler => {
  const refuse: Router.Refuse = (_request, refusal) => {
    const { headers, status } = Refusal.describe(refusal)
    return { status, headers, body: refusal._tag }
  }
  const routes = [
    { path: "/", methods: { GET: answer, POST: answer }, refuse },
    { path: "/health", methods: { GET: () => Effect.succeed(ok("alive")) }, refuse, always: true }
  ]
  return Router.make(routes, Router.fallback(refuse))
}

const Echoed = Schema.parseJson(Schema.Struct({
  method: Schema.String,
  path: Schema.String,
  query: Schema.String,
  body: Schema.String,
  address: Schema.String
}))

export const echoed = (answer: Answer) => Schema.decodeUnknownSync(Echoed)(answer.body)

export const send = (
  port: number,
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {}
) =>
  Effect.async<Answer, Error>((resume) => {
    const { body, ...rest } = options
    const outgoing = httpRequest({ host: "127.0.0.1", port, path, ...rest }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () =>
        resume(Effect.succeed({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString()
        })))
    })
    outgoing.on("error", (error) => resume(Effect.fail(error))).end(body)
  })

/** Sends these pieces on a raw connection. Returns everything received until the server closes it. */
export const raw = (port: number, ...pieces: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    const write = ([piece, ...others]: ReadonlyArray<string>) => {
      if (piece !== undefined) socket.write(piece, () => setImmediate(write, others))
    }
    const socket = connect(port, "127.0.0.1", () => write(pieces)).setNoDelay()
    socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {}).on("close", () =>
      resume(Effect.succeed(Buffer.concat(chunks).toString())))
  })

export const suite = (name: string, serveWith: Serve): void => {
  const serve = (...served: Parameters<Serve>) => Effect.provide(serveWith(...served), HttpConfig.layerLocal)
  describe(name, () => {
    it.scopedLive("passes on method, raw path, raw query, body and address", () =>
      Effect.gen(function*() {
        const port = yield* serve(echo, {})
        const answer = yield* send(port, "/a%2Fb?x=%zz&y", { method: "POST", body: "hé" })
        expect(echoed(answer)).toEqual({
          method: "POST",
          path: "/a%2Fb",
          query: "x=%zz&y",
          body: "hé",
          address: "127.0.0.1"
        })
      }))

    it.scopedLive("sends the exact Content-Length in bytes, every cookie, and nothing that the response does not have", () =>
      Effect.gen(function*() {
        const html = { "content-type": "text/html;charset=UTF-8", "x-one": "1" }
        const cookies = ["__Host-a=1; Path=/; HttpOnly; Secure; SameSite=Lax", "b=x-_~1; Max-Age=0; Path=/b"]
        const port = yield* serve(
          () => Effect.succeed({ status: 200, headers: { ...html, "set-cookie": cookies }, body: "é" }),
          {}
        )
        const { body, headers } = yield* send(port, "/")
        expect(body).toBe("é")
        expect(headers).toMatchObject({ ...html, "content-length": "2" })
        const parts = (line: string) => line.split("; ").sort()
        expect(headers["set-cookie"]?.map(parts)).toEqual(cookies.map(parts))
        const known = ["connection", "content-length", "content-type", "date", "keep-alive", "set-cookie", "x-one"]
        expect(Object.keys(headers).filter((name) => !known.includes(name))).toEqual([])
      }))

    it.scopedLive("sends bytes unchanged", () =>
      Effect.gen(function*() {
        const port = yield* serve(
          () => Effect.succeed({ status: 200, headers: {}, body: new Uint8Array([104, 105]) }),
          {}
        )
        expect((yield* send(port, "/")).body).toBe("hi")
      }))

    it.scopedLive("sends a compressed body unchanged with its own length, also for HEAD", () =>
      Effect.gen(function*() {
        const refuse: Router.Refuse = () => ok("")
        const page = { path: "/", methods: { GET: () => Effect.succeed(ok("page ".repeat(1000))) }, refuse }
        const handler = Router.make([{ ...page, isCompressed: true }], Router.fallback(refuse))
        const port = yield* serve(handler, {})
        const headers = { "accept-encoding": "gzip" }
        const bytes = yield* Effect.promise(async () => {
          const response = await fetch(`http://127.0.0.1:${port}/`, { headers })
          expect(response.headers.get("content-encoding")).toBe("gzip")
          expect(await response.text()).toBe("page ".repeat(1000))
          return response.headers.get("content-length")
        })
        expect(Number(bytes)).toBeLessThan(200)
        const head = yield* send(port, "/", { method: "HEAD", headers })
        expect([head.headers["content-length"], head.body]).toEqual([bytes, ""])
      }))

    it.scopedLive.each([204, 304])("a %i has no body and no length, also for HEAD", (status) =>
      Effect.gen(function*() {
        const headers = { "cache-control": "no-store" }
        const port = yield* serve(answering(() => Effect.succeed({ status, headers, body: "" })), {})
        for (const method of ["GET", "HEAD"]) {
          const answer = yield* send(port, "/", { method })
          expect([answer.status, answer.body, answer.headers["content-length"], answer.headers["cache-control"]])
            .toEqual([status, "", undefined, "no-store"])
        }
      }))

    it.scopedLive("a redirect has its Location", () =>
      Effect.gen(function*() {
        const port = yield* serve(
          () => Effect.succeed({ status: 303, headers: { location: "/there?a=b" }, body: "" }),
          {}
        )
        const redirect = yield* send(port, "/", { method: "POST", body: "a=b" })
        expect([redirect.status, redirect.headers.location]).toEqual([303, "/there?a=b"])
      }))

    it.scopedLive("the response to a HEAD has the length of the GET response", () =>
      Effect.gen(function*() {
        const port = yield* serve(
          () => Effect.succeed({ status: 200, headers: { "content-length": "7" }, body: "" }),
          {}
        )
        const { body, headers } = yield* send(port, "/", { method: "HEAD" })
        expect([headers["content-length"], body]).toEqual(["7", ""])
      }))

    it.scopedLive("keeps a connection open for the next request", () =>
      Effect.gen(function*() {
        const port = yield* serve(echo, {})
        const request = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
        const last = "POST /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
        const answers = yield* raw(port, request + last)
        expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
        expect(answers).toContain("\"path\":\"/2\"")
      }))

    it.scopedLive("passes on the same body for any division into pieces", () =>
      Effect.gen(function*() {
        const port = yield* serve(echo, {})
        const head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        const requests = [
          `${head}Content-Length: 9\r\n\r\nin pieces`,
          `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nin \r\n6\r\npieces\r\n0\r\n\r\n`
        ]
        for (const request of requests) {
          const cuts = Array.from(request.slice(head.length), (_, index) => head.length + index)
          const answers = yield* Effect.forEach(
            [[request], ...cuts.map((cut) => [request.slice(0, cut), request.slice(cut)])],
            (pieces) => raw(port, ...pieces),
            { concurrency: 10 }
          )
          for (const answer of answers) expect(answer).toContain("\"body\":\"in pieces\"")
        }
        const empty = yield* raw(port, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)
        expect(empty).toContain("\"body\":\"\"")
      }))

    it.scopedLive("interrupts the handler when the client disconnects", () =>
      Effect.gen(function*() {
        const started = yield* Deferred.make<void>()
        const interrupted = yield* Deferred.make<void>()
        const port = yield* serve(() =>
          Effect.onInterrupt(
            Effect.zipRight(Deferred.succeed(started, undefined), Effect.never),
            () => Deferred.succeed(interrupted, undefined)
          ), {})
        const socket = connect(port, "127.0.0.1")
        socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
        yield* Deferred.await(started)
        socket.destroy()
        yield* Deferred.await(interrupted)
      }))

    it.scopedLive("cuts a body one byte over the limit and reads the rest of up to 1 MiB, so that the client gets the response", () =>
      Effect.gen(function*() {
        const port = yield* serve(({ body }) => Effect.succeed(ok(String(body.byteLength))), {})
        const big = yield* send(port, "/", { method: "POST", body: "x".repeat(500_000) })
        expect(big.body).toBe(String(Http.maxBodyBytes + 1))
        const exact = yield* send(port, "/", { method: "POST", body: "x".repeat(Http.maxBodyBytes) })
        expect(exact.body).toBe(String(Http.maxBodyBytes))
      }))

    it.scopedLive("does not read an endless body: it passes on the beginning and closes the connection", () =>
      Effect.gen(function*() {
        const read = yield* Deferred.make<number>()
        const port = yield* serve(({ body }) => Effect.as(Deferred.succeed(read, body.byteLength), ok("")), {})
        const sent = yield* Effect.async<number>((resume) => {
          const socket = connect(port, "127.0.0.1", () => {
            socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
            const more = () => {
              while (!socket.destroyed && socket.write(chunk));
            }
            socket.on("drain", more)
            more()
          })
          // The server closes while this side still sends, so the response may be lost by the reset.
          socket.on("error", () => {}).on("close", () => resume(Effect.succeed(socket.bytesWritten)))
        })
        // What the buffers of both sides take.
        expect(sent).toBeLessThan(32 * Http.maxSwallowedBytes)
        expect(yield* Deferred.await(read)).toBe(Http.maxBodyBytes + 1)
      }))

    it.scopedLive("answers 408 to a body that does not arrive in time, and closes", () =>
      Effect.gen(function*() {
        const port = yield* serve(echo, { timeout: "50 millis" })
        const answer = yield* raw(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nslow")
        expect(answer).toMatch(/^HTTP\/1\.1 408 /)
      }))

    it.scopedLive("interrupts a handler that takes too long, and answers 503", () =>
      Effect.gen(function*() {
        const interrupted = yield* Deferred.make<void>()
        const port = yield* serve(
          () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)),
          { timeout: "50 millis" }
        )
        const answer = yield* send(port, "/")
        expect([answer.status, answer.body, answer.headers["retry-after"]]).toEqual([503, "", expect.any(String)])
        yield* Deferred.await(interrupted)
      }))

    it.scopedLive("a bug gets 500 without details, and is logged without the query", () =>
      Effect.gen(function*() {
        const logged: Array<string> = []
        const logger = Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${String(cause)}`))
        const port = yield* Effect.provide(
          serve(() => {
            throw new Error("a detail")
          }, {}),
          Logger.replace(Logger.defaultLogger, logger)
        )
        const answer = yield* send(port, "/?client_secret=hidden")
        expect([answer.status, answer.body]).toEqual([500, ""])
        expect(logged.join()).toContain("a detail")
        expect(logged.join()).not.toContain("hidden")
      }))

    it.scopedLive("refuses a body in thousands of pieces with 400, without reading all of it", () =>
      Effect.gen(function*() {
        const port = yield* serve(answering(() => Effect.succeed(ok("read"))), {})
        const post = (chunk: string, count: number) =>
          raw(
            port,
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
            ...Array.from({ length: count / 8 }, () => chunk.repeat(8)),
            "0\r\n\r\n"
          )
        expect(yield* post("1\r\na\r\n", 800)).toMatch(/^HTTP\/1\.1 200 /)
        expect(yield* post("1\r\na\r\n", 16_000)).toMatch(/^HTTP\/1\.1 400 [^]*Fragmented$/)
      }))

    it.scopedLive("refuses more than a hundred headers with 431, even if the server drops some", () =>
      Effect.gen(function*() {
        const port = yield* serve(answering(() => Effect.succeed(ok("served"))), {})
        const named = (count: number) => Array.from({ length: count }, (_, i) => `a${i}:\r\n`).join("")
        const get = (count: number) =>
          raw(port, `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${named(count)}X-Last: 1\r\n\r\n`)
        expect(yield* get(50)).toMatch(/^HTTP\/1\.1 200 /)
        expect(yield* get(150)).toMatch(/^HTTP\/1\.1 431 [^]*TooManyHeaders$/)
        // Beyond `maxHeadersCount` newer versions of Node refuse the request themselves, with the same status.
        for (const count of [400, 2000, 3000]) expect(yield* get(count)).toMatch(/^HTTP\/1\.1 431 /)
      }))

    it.scopedLive("refuses an encoded body, and a path with too many slashes", () =>
      Effect.gen(function*() {
        const port = yield* serve(answering(() => Effect.succeed(ok("served"))), {})
        for (const encoding of ["gzip", "x-gzip", "identity, br"]) {
          const answer = yield* send(port, "/", {
            method: "POST",
            body: "a=b",
            headers: { "content-encoding": encoding }
          })
          expect([encoding, answer.status, answer.body]).toEqual([encoding, 415, "@startlist/http/UnsupportedEncoding"])
        }
        for (const encoding of ["identity", "IDENTITY", ""]) {
          const answer = yield* send(port, "/", {
            method: "POST",
            body: "a=b",
            headers: { "content-encoding": encoding }
          })
          expect([encoding, answer.status, answer.body]).toEqual([encoding, 200, "served"])
        }
        for (const path of ["//health", "/health/", "///health//?a=b"]) {
          const answer = yield* send(port, path)
          expect([path, answer.status, answer.body]).toEqual([path, 404, "@startlist/http/ExtraSlashes"])
        }
      }))

    it.scopedLive("answers invalid HTTP with 400 or 431, after the whole response to the previous request", () =>
      Effect.gen(function*() {
        const damages = [
          ["\0\r\n\r\n", "400"],
          ["GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400"],
          [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"x".repeat(20_000)}\r\n\r\n`, "431"],
          ["POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"]
        ] as const
        const first = "POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
        const body = "x".repeat(5_000_000)
        const served: Array<string> = []
        const port = yield* serve(
          ({ path }) =>
            Effect.as(Effect.sleep("20 millis"), ok(path === "/first" ? body : "served")).pipe(
              Effect.tap(() => Effect.sync(() => served.push(path)))
            ),
          {}
        )
        for (const [damage, status] of damages) {
          for (const pieces of [[first + damage], [first, damage], [first + first, damage + damage, damage]]) {
            const answers = yield* raw(port, ...pieces)
            const whole = answers.split(body)
            expect([damage.slice(0, 30), whole.length]).toEqual([damage.slice(0, 30), pieces.length === 3 ? 3 : 2])
            expect(whole.slice(0, -1).join("")).toMatch(/^(HTTP\/1\.1 200 [^]*?\r\n\r\n){1,2}$/)
            expect(whole.at(-1)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\n\r\n$`))
          }
        }
        expect(new Set(served)).toEqual(new Set(["/first"]))
      }))

    it.scopedLive("refuses a repeated single-value header with 400", () =>
      Effect.gen(function*() {
        const port = yield* serve(answering(() => Effect.succeed(ok("served"))), {})
        const pairs = [
          "Host: y",
          "host: x",
          "Content-Type: text/plain\r\nContent-Type: text/plain",
          "Origin: null\r\nORIGIN: http://x",
          "Content-Length: 0\r\nContent-Length: 0"
        ]
        const head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        for (const pair of pairs) {
          expect([pair, yield* raw(port, `${head}${pair}\r\n\r\n`)]).toEqual([
            pair,
            expect.stringMatching(/^HTTP\/1\.1 400 /)
          ])
        }
        expect(yield* raw(port, `${head}Accept: a\r\nAccept: b\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
      }))

    it.scopedLive("refuses a Host that is not a host with a port", () =>
      Effect.gen(function*() {
        const port = yield* serve(answering(() => Effect.succeed(ok("served"))), {})
        const statusOf = (host: string) =>
          Effect.map(
            raw(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
            (answer) => answer.slice(9, 12)
          )
        for (const host of ["a/b", "a b", "a?b", "a#b", "a@b", "http://a", "a:b", "[::1", "a\\b", "a<b", "a:1:2"]) {
          expect([host, yield* statusOf(host)]).toEqual([host, "400"])
        }
        for (const host of ["a", "a.test:8080", "127.0.0.1", "[::1]:80", "xn--bcher-kva.test", "a_b"]) {
          expect([host, yield* statusOf(host)]).toEqual([host, "200"])
        }
      }))

    it.scopedLive("trusts X-Forwarded-For only from a trusted proxy", () =>
      Effect.gen(function*() {
        const headers = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" }
        const untrusted = yield* serve(echo, {})
        expect(echoed(yield* send(untrusted, "/", { headers })).address).toBe("127.0.0.1")
        const site = { ...HttpConfig.local, trustedProxies: ["127.0.0.0/8"] }
        const trusted = yield* Effect.provide(serveWith(echo, {}), Layer.succeed(HttpConfig.HttpConfig, site))
        expect(echoed(yield* send(trusted, "/", { headers })).address).toBe("198.51.100.7")
      }))
  })
}
