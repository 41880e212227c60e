/** Applications. Concurrent calls of `find` are batched, because every token request needs it. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Application, ApplicationId, ApplicationStore } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { Conflict } from "@startlist/core/Store"
import { UserErased } from "@startlist/core/User"
import * as Batch from "./batch.ts"
import type { Database } from "../Database.ts"
import type { Seal } from "../Seal.ts"
import { holdPeople } from "./personStore.ts"
import {
  applicationParameters,
  type ApplicationRow,
  type Int8,
  millisOf,
  sealedOf,
  signingColumns,
  type SigningRow,
  stateLetterOf,
  toApplication,
  toSigningSecrets
} from "./rows.ts"

export const make = (
  { isInProcess, prefix: p, query, transaction }: Database.Service,
  seal: Seal.Service
): Effect.Effect<ApplicationStore.Service> =>
  Effect.gen(function*() {
    const columns = `id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, state, epoch, links,
      requests_per_minute`
    const find = Batch.statement(
      `${p}application_find`,
      (isAlone) => `SELECT ${columns} FROM ${p}applications WHERE ${Batch.isAmong("id", "bigint", isAlone)}`
    )
    const list = {
      name: `${p}application_list`,
      text: `SELECT ${columns} FROM ${p}applications WHERE id < $1::bigint AND state <> 'e'
        ORDER BY id DESC LIMIT $2::integer`
    }
    const listOfOwner = {
      name: `${p}application_list_owner`,
      text: `SELECT ${columns} FROM ${p}applications WHERE owner_id = $3::bigint AND id < $1::bigint AND state <> 'e'
        ORDER BY id DESC LIMIT $2::integer`
    }
    // An erasure of the owner waits, or has been before.
    const hold = { name: `${p}application_hold`, text: holdPeople(p, "VALUES ($1::bigint)") }
    // Get the identifier first, because sealed secrets are bound to it.
    const nextId = { name: `${p}application_next`, text: `SELECT nextval('${p}applications_id_seq') AS id` }
    const insert = {
      name: `${p}application_insert`,
      text: `INSERT INTO ${p}applications
          (id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets, links,
            first_secret)
        OVERRIDING SYSTEM VALUE
        VALUES ($7::bigint, 1, $1::bigint, $2::text, $3::json, $4::boolean, $5::json, $8::bigint, 1, $9::json, $6::json,
          $5::json->0->>0)
        ON CONFLICT (first_secret) DO NOTHING
        RETURNING ${columns}`
    }
    const findSigning = {
      name: `${p}signing_secrets_find`,
      text: `SELECT ${signingColumns} FROM ${p}applications a WHERE a.id = $1::bigint`
    }
    const saveSigning = {
      name: `${p}signing_secrets_save`,
      text: `UPDATE ${p}applications SET signing_version = $2::integer, signing_secrets = $3::json
        WHERE id = $1::bigint AND signing_version = $2::integer - 1 RETURNING id`
    }
    const save = {
      name: `${p}application_save`,
      text: `UPDATE ${p}applications SET owner_id = $1::bigint, name = $2::text, redirect_uris = $3::json,
          require_pkce = $4::boolean, secrets = $5::json, links = $6::json, version = $8::integer, state = $9::"char",
          epoch = $10::integer, requests_per_minute = $11::integer
        WHERE id = $7::bigint AND version = $8::integer - 1 RETURNING id`
    }

    const findAll = (ids: ReadonlyArray<ApplicationId>) =>
      Effect.map(query<ApplicationRow>(find(ids), Batch.keysParameters(ids)), (rows) => {
        const found = new Map(rows.map((row) => [Number(row.id), toApplication(row)]))
        return ids.map((id): Option.Option<Application> => Option.fromNullable(found.get(id)))
      })
    return {
      find: yield* Batch.coalesce({ isInProcess, run: findAll }),
      list: ({ after, limit, owner }) => {
        const before = Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER)
        return Effect.map(
          Option.isSome(owner)
            ? query<ApplicationRow>(listOfOwner, [before, limit, owner.value])
            : query<ApplicationRow>(list, [before, limit]),
          (rows) => rows.map(toApplication)
        )
      },
      insert: (given, value) =>
        transaction(Effect.gen(function*() {
          const { createdAt, ownerId } = given
          if ((yield* query(hold, [ownerId])).length === 0) return yield* new UserErased({ userId: ownerId })
          const [next] = yield* query<{ readonly id: Int8 }>(nextId, [])
          const id = next?.id ?? 0
          const [row] = yield* query<ApplicationRow>(insert, [
            ...applicationParameters(given),
            id,
            millisOf(createdAt),
            sealedOf(seal, id, [{ ...first, value }])
          ])
          return row ? toApplication(row) : yield* new Conflict()
        })),
      findSigningSecrets: (id) =>
        Effect.map(
          query<SigningRow>(findSigning, [id]),
          ([row]) => Option.map(Option.fromNullable(row), toSigningSecrets(seal))
        ),
      saveSigningSecrets: ({ applicationId, secrets, version }) =>
        Effect.flatMap(
          query(saveSigning, [applicationId, version, sealedOf(seal, applicationId, secrets)]),
          (rows) => rows.length === 1 ? Effect.void : new Conflict()
        ),
      save: (application) =>
        transaction(Effect.gen(function*() {
          const { epoch, id, ownerId, requestsPerMinute = null, state, version } = application
          if (state !== "ended" && (yield* query(hold, [ownerId])).length === 0) return yield* new Conflict()
          const rows = yield* query(save, [
            ...applicationParameters(application),
            id,
            version,
            stateLetterOf[state],
            epoch,
            requestsPerMinute
          ])
          if (rows.length !== 1) return yield* new Conflict()
        }))
    }
  })
