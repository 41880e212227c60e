import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as https from "node:https"
import * as tls from "node:tls"
import { type Authority, makeAuthority, type Pair } from "./Certificates.ts"
import { dispatcher, listening, post, validation, watchProcess } from "./Receivers.ts"

const troubles = watchProcess()
afterAll(() => expect(troubles).toEqual([]))

let authority: Authority
beforeAll(async () => {
  authority = await makeAuthority()
})

/** Names of the tests resolve to loopback. */
const trusting = () => dispatcher({ ca: [authority.pem], resolve: () => Promise.resolve(["127.0.0.1"]) })

const serving = (pair: Pair, options: https.ServerOptions = {}) => {
  const names: Array<string | false | null> = []
  const server = https.createServer({ cert: pair.cert, key: pair.key, ...options }, ({ socket }, response) => {
    if (socket instanceof tls.TLSSocket) names.push(socket.servername)
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  return Effect.map(listening(server), (receiver) => ({ ...receiver, names }))
}

const answers = (url: string) =>
  Effect.gen(function*() {
    const callbacks = yield* trusting()
    return [yield* callbacks.deliver(post(url)), yield* callbacks.validate(validation(url))]
  })

describe("TLS", () => {
  it.scopedLive("uses the callback's name as SNI, and verifies the certificate", () =>
    Effect.gen(function*() {
      const pair = yield* Effect.promise(() => authority.issue({ names: ["good.example"] }))
      const { names, port } = yield* serving(pair)
      for (const answer of yield* answers(`https://good.example:${port}/`)) {
        expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "{}" })
      }
      expect(names).toEqual(["good.example", "good.example"])
    }))

  it.scopedLive("works with a certificate for an address, without SNI", () =>
    Effect.gen(function*() {
      const pair = yield* Effect.promise(() => authority.issue({ addresses: ["127.0.0.1"] }))
      const { names, port } = yield* serving(pair)
      for (const answer of yield* answers(`https://127.0.0.1:${port}/`)) expect(answer._tag).toBe("Answered")
      expect(names).toEqual([false, false])
    }))

  const refused: Record<string, { readonly pair: () => Promise<Pair>; readonly detail: string }> = {
    "an expired certificate": {
      pair: () => authority.issue({ names: ["bad.example"], notAfter: new Date(Date.now() - 3_600_000) }),
      detail: "TLS: the certificate has expired"
    },
    "a certificate of tomorrow": {
      pair: () => authority.issue({ names: ["bad.example"], notBefore: new Date(Date.now() + 3_600_000) }),
      detail: "TLS: the certificate is not valid yet"
    },
    "a self-signed certificate": {
      pair: () => authority.selfSign({ names: ["bad.example"] }),
      detail: "TLS: the certificate is self-signed"
    },
    "a certificate of an unknown authority": {
      pair: async () => (await makeAuthority()).issue({ names: ["bad.example"] }),
      detail: "TLS: the certificate is not trusted"
    },
    "a certificate whose intermediate one is missing": {
      pair: async () => (await authority.certify("An intermediate authority")).issue({ names: ["bad.example"] }),
      detail: "TLS: an intermediate certificate is missing, or its authority is not trusted"
    },
    "the certificate of an unknown authority, with its chain": {
      pair: async () => {
        const unknown = await makeAuthority("An unknown authority")
        const { cert, key } = await unknown.issue({ names: ["bad.example"] })
        return { cert: cert + "\n" + unknown.pem, key }
      },
      detail: "TLS: the authority of the certificate is not trusted"
    },
    "a certificate for another host": {
      pair: () => authority.issue({ names: ["other.example"] }),
      detail: "TLS: the certificate is for another host"
    }
  }
  for (const [name, { detail, pair }] of Object.entries(refused)) {
    it.scopedLive(`with ${name} is refused, and no request is sent`, () =>
      Effect.gen(function*() {
        const receiver = yield* serving(yield* Effect.promise(pair))
        for (const answer of yield* answers(`https://bad.example:${receiver.port}/`)) {
          expect(answer).toEqual({ _tag: "Unreachable", detail })
        }
        expect(receiver.names).toEqual([])
        yield* receiver.allClosed
      }))
  }

  it.scopedLive("works with an intermediate certificate that the receiver sends", () =>
    Effect.gen(function*() {
      const pair = yield* Effect.promise(async () => {
        const intermediate = await authority.certify("An intermediate authority")
        const { cert, key } = await intermediate.issue({ names: ["good.example"] })
        return { cert: cert + "\n" + intermediate.pem, key }
      })
      const { port } = yield* serving(pair)
      for (const answer of yield* answers(`https://good.example:${port}/`)) expect(answer._tag).toBe("Answered")
    }))

  it.scopedLive("is verified even if the environment disables verification", () =>
    Effect.gen(function*() {
      yield* Effect.acquireRelease(
        Effect.sync(() => process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"),
        () => Effect.sync(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"])
      )
      const receiver = yield* serving(yield* Effect.promise(() => authority.selfSign({ names: ["bad.example"] })))
      for (const answer of yield* answers(`https://bad.example:${receiver.port}/`)) {
        expect(answer._tag).toBe("Unreachable")
      }
    }))

  for (const version of ["TLSv1", "TLSv1.1"] as const) {
    it.scopedLive(`is refused in version ${version}`, () =>
      Effect.gen(function*() {
        const pair = yield* Effect.promise(() => authority.issue({ names: ["old.example"] }))
        const receiver = yield* serving(pair, {
          minVersion: version,
          maxVersion: version,
          ciphers: "DEFAULT@SECLEVEL=0"
        })
        for (const answer of yield* answers(`https://old.example:${receiver.port}/`)) {
          expect(answer).toEqual({
            _tag: "Unreachable",
            detail: "TLS: the callback does not speak version 1.2 or later"
          })
        }
      }))
  }

  it.scopedLive("works in version 1.2", () =>
    Effect.gen(function*() {
      const pair = yield* Effect.promise(() => authority.issue({ names: ["good.example"] }))
      const { port } = yield* serving(pair, { maxVersion: "TLSv1.2" })
      for (const answer of yield* answers(`https://good.example:${port}/`)) expect(answer._tag).toBe("Answered")
    }))

  it.scopedLive("with a receiver without TLS is unreachable", () =>
    Effect.gen(function*() {
      const receiver = yield* listening(tls.createServer((socket) => socket.destroy()).on("tlsClientError", () => {}))
      for (const answer of yield* answers(`https://good.example:${receiver.port}/`)) {
        expect(answer._tag).toBe("Unreachable")
      }
    }))
})
