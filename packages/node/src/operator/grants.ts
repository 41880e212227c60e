/** Access that users have granted to applications, and its revocation on their behalf. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Application from "@startlist/core/Application"
import type { Authorized } from "@startlist/core/Grant"
import { OAuth } from "@startlist/core/OAuth"
import { foundOr } from "@startlist/core/Store"
import type * as User from "@startlist/core/User"
import type { FieldTexts } from "@startlist/http/description/ProtocolTexts"
import { AccountStore, UserNotFound } from "../accounts/AccountStore.ts"
import * as AuditLog from "../data/AuditLog.ts"
import { ApplicationId, Flag, optional, UserId } from "./Input.ts"
import { operation } from "./Operation.ts"
import { badRequest, notFound } from "./OperatorErrors.ts"

/** The account of a user. */
export const findAccount = (id: User.UserId) =>
  Effect.flatMap(AccountStore, (accounts) => foundOr(accounts.find(id), () => new UserNotFound({ userId: id })))

const id = "the id of the user"

/** A grant of a user. */
export const Granted = Schema.Struct({
  client_id: Schema.Int,
  application: Schema.String,
  scope: Schema.String,
  granted_at: Schema.String
})

/** A grant as it is shown. */
export const showGrant = ({ application, grant }: Authorized): typeof Granted.Type => ({
  client_id: application.id,
  application: application.name,
  scope: grant.scope.join(" "),
  granted_at: DateTime.formatIso(grant.grantedAt)
})

const listGrants = operation({
  request: "GET /users/{id}/grants",
  summary: "List the applications of a user",
  description: "Lists the applications that the user has authorized, oldest first.",
  command: {
    name: "user applications",
    help: "lists the applications that have access to the user's data",
    arguments: { id }
  },
  input: { id: UserId },
  output: Schema.Struct({ grants: Schema.Array(Granted) }),
  refuses: [404],
  run: ({ id }) =>
    Effect.map(
      Effect.zipRight(findAccount(id), Effect.flatMap(OAuth, ({ authorized }) => authorized(id))),
      (authorized) => ({ grants: authorized.map(showGrant) })
    )
})

/** Revokes the access of an application, and records it. */
const revoke = (id: User.UserId, client_id: Application.ApplicationId, address: string) =>
  Effect.gen(function*() {
    const { revokeByUser } = yield* OAuth
    yield* revokeByUser(client_id, id)
    const audit = yield* AuditLog.AuditLog
    yield* audit.append({
      at: yield* DateTime.now,
      action: "revocation",
      actor: { type: "user", id },
      subject: { type: "application", id: client_id },
      address,
      outcome: "success",
      detail: "by an operator, on behalf of the user"
    })
  })

const revokeForUser = operation({
  request: "POST /users/{id}/revocations",
  summary: "Revoke access on behalf of a user",
  description: "Revokes the access of an application, or of all, as the user could, and sends the events.",
  command: {
    name: "user revoke",
    help: "revokes the access of an application, as the user could; an event is sent",
    arguments: { id },
    options: {
      client_id: { name: "application", about: "client_id of the application" },
      all: { about: "revokes the access of all applications", type: "switch" }
    }
  },
  input: { id: UserId, client_id: optional(ApplicationId), all: optional(Flag) },
  bodyName: "RevocationRequest",
  output: Schema.Void,
  status: 204,
  refuses: [404],
  run: ({ all = false, client_id, id }, { address }) =>
    Effect.gen(function*() {
      yield* findAccount(id)
      if (all === (client_id !== undefined)) {
        const message = "must be given, or else all"
        return yield* badRequest([{ resource: "Request", field: "client_id", code: "missing", message }])
      }
      if (client_id !== undefined) {
        return yield* Effect.catchTag(revoke(id, client_id, address), "@startlist/core/GrantNotFound", () =>
          notFound("Grant", "client_id", `user ${id} has not authorized application ${client_id}`))
      }
      const { authorized } = yield* OAuth
      const grants = yield* authorized(id)
      if (grants.length === 0) {
        return yield* notFound("Grant", "id", `user ${id} has not authorized any application`)
      }
      for (const { application } of grants) {
        // Revoked by somebody else in the meantime.
        yield* Effect.catchTag(revoke(id, application.id, address), "@startlist/core/GrantNotFound", () =>
          Effect.void)
      }
    })
})

/** The operations on grants, in the order of the help. */
export const grants = { listGrants, revokeForUser }

const at = "2026-06-01T08:00:00.000Z"

/** Texts and examples of their fields. */
export const grantTexts = {
  "RevocationRequest.all": ["Whether the access of all applications is revoked", false],
  application: ["Name of the application", "Race Day"],
  granted_at: ["Time at which the user granted access: ISO 8601 in UTC with milliseconds", at],
  grants: ["Access that the user has granted to applications, oldest first", undefined]
} satisfies FieldTexts
