/**
 * Parts of a request in a loop, on stores in memory. Arguments: `refresh` or `bearer`; `router` (all endpoints without HTTP),
 * `core` or `cryptography`.
 */
import { ApplicationId } from "@startlist/core/Application"
import * as OAuth from "@startlist/core/OAuth"
import { Secrets } from "@startlist/core/Secrets"
import { Effect, Option, Redacted } from "effect"
import { Buffer } from "node:buffer"
import * as Child from "../Child.ts"
import * as Fixture from "../Fixture.ts"
import { type Effort, makeStopwatch } from "../Measurement.ts"
import { type Athlete, bearerRequest, refreshRequest } from "../Protocol.ts"

const [, , work = "", layer = ""] = process.argv

/** A request as the binding hands it over. */
const toRequest = ({ body, head }: { readonly head: string; readonly body: string }) => {
  const [line = "", ...headers] = head.trim().split("\r\n")
  const [method = "", path = ""] = line.split(" ")
  return {
    method,
    path,
    query: "",
    headers: Object.fromEntries(headers.map((header) => header.split(": "))),
    body: Buffer.from(body),
    address: "127.0.0.1"
  }
}

const program = Effect.gen(function*() {
  const { athletes, clientId, clientSecret } = yield* Fixture.prepare()
  const ready = { athletes, clientId, clientSecret, port: 0 }
  const handle = yield* Fixture.handler
  const oauth = yield* OAuth.OAuth
  const secrets = yield* Secrets
  const client = { id: ApplicationId.make(Number(clientId)), secret: Redacted.make(clientSecret) }

  /** Refreshes with the token of the last answer. */
  const refreshing = (refresh: (token: string) => string) => ({ refreshToken }: Athlete) => {
    let token = refreshToken
    return () => {
      token = refresh(token)
    }
  }
  const asking = (ask: (token: string) => void) => ({ accessToken }: Athlete) => () => ask(accessToken)

  const layers = new Map<string, (athlete: Athlete) => () => void>([
    [
      "refresh router",
      refreshing((token) => {
        const { body, status } = Effect.runSync(handle(toRequest(refreshRequest(ready, token))))
        const answer: unknown = status === 200 ? JSON.parse(String(body)) : undefined
        if (typeof answer !== "object" || answer === null || !("refresh_token" in answer)) throw new Error(String(body))
        return String(answer.refresh_token)
      })
    ],
    [
      "refresh core",
      refreshing((token) =>
        Redacted.value(Effect.runSync(oauth.refresh({ client, token: Redacted.make(token) })).refreshToken)
      )
    ],
    [
      // The presented token and the secret are hashed, a salt is drawn, and a pair is derived and hashed.
      "refresh cryptography",
      refreshing((token) => {
        secrets.hash(token)
        secrets.hash(clientSecret)
        const salt = Effect.runSync(secrets.makeSalt)
        const origin = { presented: Redacted.make(token), salt, idempotencyKey: Option.none() }
        const { accessToken, refreshToken } = secrets.keys[0].derive(origin, "1_1_", "1_1_1_1_")
        secrets.hash(Redacted.value(accessToken))
        secrets.hash(Redacted.value(refreshToken))
        return token
      })
    ],
    [
      "bearer router",
      asking((token) => {
        const { body, status } = Effect.runSync(handle(toRequest(bearerRequest(token))))
        if (status !== 200) throw new Error(String(body))
      })
    ],
    ["bearer core", asking((token) => void Effect.runSync(oauth.authenticate(Redacted.make(token))))],
    ["bearer cryptography", asking((token) => void secrets.hash(token))]
  ])
  const make = layers.get(`${work} ${layer}`)
  if (make === undefined) return yield* Effect.dieMessage(`what is ${work} ${layer}?`)
  const calls = athletes.map(make)

  Child.answer(async (effort: Effort) => {
    const cpuMicros = () => {
      const { system, user } = process.cpuUsage()
      return user + system
    }
    const { ended, result } = makeStopwatch(effort, { process: cpuMicros })
    for (let goesOn = true; goesOn;) {
      for (const call of calls) {
        const start = performance.now()
        call()
        goesOn = ended(start)
      }
      // Timers and the garbage of promises are part of a running server, too.
      await new Promise(setImmediate)
    }
    return result()
  })
  Child.ready({})
  return yield* Effect.never
})

Effect.runFork(Effect.tapErrorCause(Effect.provide(program, Fixture.layer(Fixture.inMemory)), Effect.logError))
