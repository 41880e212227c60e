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
import { holdPeople } from "./people.ts"
import {
  type ApplicationRow,
  type Int8,
  linksOf,
  millisOf,
  sealedOf,
  secretsOf,
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
        VALUES ($7::bigint, 1, $1::bigint, $2::text, $3::json, $4::boolean, $5::json, $6::bigint, 1, $8::json, $9::json,
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
      text: `UPDATE ${p}applications SET version = $2::integer, owner_id = $3::bigint, name = $4::text,
          redirect_uris = $5::json, require_pkce = $6::boolean, secrets = $7::json, state = $8::"char", epoch = $9::integer,
          links = $10::json, requests_per_minute = $11::integer
        WHERE id = $1::bigint AND version = $2::integer - 1 RETURNING id`
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
      insert: ({ createdAt, links, name, ownerId, redirectUris, requirePkce, secrets }, value) =>
        transaction(Effect.gen(function*() {
          if ((yield* query(hold, [ownerId])).length === 0) return yield* new UserErased({ userId: ownerId })
          const [next] = yield* query<{ readonly id: Int8 }>(nextId, [])
          const id = next?.id ?? 0
          const [row] = yield* query<ApplicationRow>(insert, [
            ownerId,
            name,
            JSON.stringify(redirectUris),
            requirePkce,
            secretsOf(secrets),
            millisOf(createdAt),
            id,
            sealedOf(seal, id, [{ ...first, value }]),
            linksOf(links)
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
      save: ({
        epoch,
        id,
        links,
        name,
        ownerId,
        redirectUris,
        requestsPerMinute = null,
        requirePkce,
        secrets,
        state,
        version
      }) =>
        transaction(Effect.gen(function*() {
          if (state !== "ended" && (yield* query(hold, [ownerId])).length === 0) return yield* new Conflict()
          const rows = yield* query(save, [
            id,
            version,
            ownerId,
            name,
            JSON.stringify(redirectUris),
            requirePkce,
            secretsOf(secrets),
            stateLetterOf[state],
            epoch,
            linksOf(links),
            requestsPerMinute
          ])
          if (rows.length !== 1) return yield* new Conflict()
        }))
    }
  })
