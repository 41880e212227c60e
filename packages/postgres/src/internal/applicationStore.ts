/** Applications. `find` is on the way of every token request: concurrent ones are one statement. */
import type { Application, ApplicationId, ApplicationStore } from "@startlist/core/Application"
import { Conflict } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import * as Coalesce from "./coalesce.ts"
import * as Input from "./input.ts"
import { type ApplicationRow, millisOf, secretsOf, toApplication } from "./rows.ts"

export const make = ({ isInProcess, prefix: p, query }: Database.Service): Effect.Effect<ApplicationStore.Service> =>
  Effect.gen(function*() {
    const columns = "id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at"
    const find = Input.statement(
      `${p}application_find`,
      (isAlone) => `SELECT ${columns} FROM ${p}applications WHERE ${Input.isAmong("id", "bigint", isAlone)}`
    )
    const list = {
      name: `${p}application_list`,
      text: `SELECT ${columns} FROM ${p}applications WHERE id < $1::bigint ORDER BY id DESC LIMIT $2::integer`
    }
    const listOfOwner = {
      name: `${p}application_list_owner`,
      text: `SELECT ${columns} FROM ${p}applications WHERE owner_id = $3::bigint AND id < $1::bigint
        ORDER BY id DESC LIMIT $2::integer`
    }
    const insert = {
      name: `${p}application_insert`,
      text: `INSERT INTO ${p}applications (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at)
        VALUES (1, $1::bigint, $2::text, $3::json, $4::boolean, $5::json, $6::bigint) RETURNING ${columns}`
    }
    const save = {
      name: `${p}application_save`,
      text: `UPDATE ${p}applications SET version = $2::integer, owner_id = $3::bigint, name = $4::text,
          redirect_uris = $5::json, require_pkce = $6::boolean, secrets = $7::json
        WHERE id = $1::bigint AND version = $2::integer - 1 RETURNING id`
    }

    const findAll = (ids: ReadonlyArray<ApplicationId>) =>
      Effect.map(query<ApplicationRow>(find(ids), Input.keysParameters(ids)), (rows) => {
        const found = new Map(rows.map((row) => [Number(row.id), toApplication(row)]))
        return ids.map((id): Option.Option<Application> => Option.fromNullable(found.get(id)))
      })
    return {
      find: yield* Coalesce.make({ isInProcess, run: findAll }),
      list: ({ after, limit, owner }) => {
        const before = Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER)
        return Effect.map(
          Option.isSome(owner)
            ? query<ApplicationRow>(listOfOwner, [before, limit, owner.value])
            : query<ApplicationRow>(list, [before, limit]),
          (rows) => rows.map(toApplication)
        )
      },
      insert: ({ createdAt, name, ownerId, redirectUris, requirePkce, secrets }) =>
        Effect.flatMap(
          query<ApplicationRow>(insert, [
            ownerId,
            name,
            JSON.stringify(redirectUris),
            requirePkce,
            secretsOf(secrets),
            millisOf(createdAt)
          ]),
          ([row]) => row ? Effect.succeed(toApplication(row)) : Effect.dieMessage("an insert returned nothing")
        ),
      save: ({ id, name, ownerId, redirectUris, requirePkce, secrets, version }) =>
        Effect.flatMap(
          query(save, [id, version, ownerId, name, JSON.stringify(redirectUris), requirePkce, secretsOf(secrets)]),
          (rows) => rows.length === 1 ? Effect.void : new Conflict()
        )
    }
  })
