import { describe, expect, it } from "@effect/vitest"
import { Compression, type Http } from "@startlist/http"
import { Effect } from "effect"
import { gunzipSync } from "node:zlib"

const compress = Compression.make()

const request = (headers: Http.Request["headers"]): Http.Request => ({
  method: "GET",
  path: "/",
  query: "",
  headers,
  body: new Uint8Array(),
  address: "192.0.2.1"
})

const page = (headers: Http.Response["headers"] = {}, body: Http.Response["body"] = "é".repeat(2000)) => ({
  status: 200,
  headers: { "content-type": "text/html;charset=UTF-8", ...headers },
  body
})

/** The encoding of this response for a request with these headers. */
const encodingOf = (headers: Http.Request["headers"], response: Http.Response) =>
  Effect.map(compress(request(headers), response), ({ headers }) => headers["content-encoding"])

const gzip = { "accept-encoding": "gzip" }

describe("compression", () => {
  it.effect("depends on Accept-Encoding, whose weight of 0 refuses", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string | undefined, "gzip" | undefined]> = [
        [undefined, undefined],
        ["", undefined],
        ["br, deflate", undefined],
        ["gzip", "gzip"],
        ["br;q=1.0, GZIP;q=0.5", "gzip"],
        ["*", "gzip"],
        ["gzip;q=0, *", undefined],
        ["gzip; q=0.0", undefined],
        ["*;q=0", undefined],
        ["gzip;q=x", undefined]
      ]
      for (const [accept, encoding] of cases) {
        expect([accept, yield* encodingOf({ "accept-encoding": accept }, page())]).toEqual([accept, encoding])
      }
    }))

  it.effect("does not change the text, and adds Vary", () =>
    Effect.gen(function*() {
      const { body, headers } = yield* compress(request(gzip), page({ vary: "Cookie" }))
      expect(gunzipSync(Buffer.from(body)).toString()).toBe("é".repeat(2000))
      expect(headers["vary"]).toBe("Cookie, Accept-Encoding")
      const plain = yield* compress(request({}), page())
      expect([plain.body, plain.headers["vary"]]).toEqual(["é".repeat(2000), "Accept-Encoding"])
    }))

  it.effect("does not change responses that are small, compressed or of another type", () =>
    Effect.gen(function*() {
      for (
        const response of [
          page({}, "short"),
          page({ "content-encoding": "br" }),
          page({ "content-type": "image/png" }),
          { status: 204, headers: {}, body: "" }
        ]
      ) {
        const { body } = yield* compress(request(gzip), response)
        expect(body).toBe(response.body)
      }
    }))

  it.effect("of possible secrets is only for requests that no other site can have caused", () =>
    Effect.gen(function*() {
      const secret = page({ "cache-control": "no-store" })
      const cases: ReadonlyArray<readonly [Http.Request["headers"], "gzip" | undefined]> = [
        [{}, "gzip"],
        [{ cookie: "" }, "gzip"],
        [{ cookie: "session=1" }, undefined],
        [{ cookie: "session=1", "sec-fetch-site": "same-origin" }, "gzip"],
        [{ cookie: "session=1", "sec-fetch-site": "none" }, "gzip"],
        [{ cookie: "session=1", "sec-fetch-site": "same-site" }, undefined],
        [{ cookie: "session=1", "sec-fetch-site": "cross-site" }, undefined],
        [{ "sec-fetch-site": "cross-site" }, undefined]
      ]
      for (const [headers, encoding] of cases) {
        expect([headers, yield* encodingOf({ ...gzip, ...headers }, secret)]).toEqual([headers, encoding])
        expect([headers, yield* encodingOf({ ...gzip, ...headers }, page())]).toEqual([headers, "gzip"])
      }
    }))

  it.effect("of shared bytes is done once", () =>
    Effect.gen(function*() {
      const shared = page({}, new TextEncoder().encode("x".repeat(2000)))
      const [one, other] = yield* Effect.all([
        compress(request(gzip), shared),
        Effect.flatMap(Effect.yieldNow(), () => compress(request(gzip), shared))
      ])
      expect(one.body).toBe(other.body)
    }))
})
