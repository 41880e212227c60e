/** The program of the newer version: it takes its steps, and then serves as the present one does. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { Migrations } from "@startlist/postgres"
import { newer } from "./newer.ts"

const url = Redacted.make(process.env["DATABASE_URL"] ?? "")
await Effect.runPromise(Effect.scoped(Effect.provide(Migrations.run(newer), PgClient.layer({ url }))))
await import("@startlist/node/main")
