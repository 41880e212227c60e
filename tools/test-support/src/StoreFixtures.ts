/** Fixtures of the tests of the stores. */
import { Audit, Callbacks, Secrets, Services } from "@startlist/core"
import { NodeSecrets } from "@startlist/http"
import { type Database, Postgres, Seal, Users } from "@startlist/postgres"
import { Effect, Layer, Option, Redacted } from "effect"

/** A key of 32 bytes, which is not secret. */
export const masterKey = Redacted.make(Buffer.alloc(32, 7).toString("base64"))

export const seal: Layer.Layer<Seal.Seal> = Seal.layerWith({ key: masterKey }).pipe(Layer.orDie)

/** Real secrets: several nodes share a database. */
export const secrets: Layer.Layer<Secrets.Secrets> = NodeSecrets.layerWith({ key: masterKey }).pipe(Layer.orDie)

/** Callbacks that answer the challenge and accept all events. */
export const callbacks: Layer.Layer<Callbacks.Callbacks> = Layer.succeed(Callbacks.Callbacks, {
  problem: () => Option.none(),
  deliver: () => Effect.succeed(answered("")),
  validate: ({ challenge }) => Effect.succeed(answered(JSON.stringify({ "hub.challenge": challenge })))
})

const answered = (body: string) =>
  Callbacks.Answer.Answered({ status: 200, contentType: "application/json", body, afterMs: 1, ...noRetry })

const noRetry = { retryAfter: Option.none() }

/** The services over a database, with real secrets. */
export const services = <A, E>(database: Layer.Layer<Services.Stores | Database.Database | A, E, Seal.Seal>) =>
  Services.layer.pipe(
    Layer.provideMerge(Users.layer),
    Layer.provideMerge(database),
    Layer.provide([seal, callbacks]),
    Layer.provideMerge(Layer.merge(Audit.none, secrets)),
    Layer.orDie
  )

/** One node: the services over its own pool. */
export const node = (options: Postgres.Options) => services(Postgres.layer(options))
