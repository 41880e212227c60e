/** People, and the revocation of access on their behalf. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { PersonalData } from "@startlist/core/PersonalData"
import { foundOr, Text } from "@startlist/core/Store"
import * as User from "@startlist/core/User"
import { HttpConfig } from "@startlist/http/HttpConfig"
import * as Users from "@startlist/postgres/Users"
import { type Account, AccountStore, erase, UserNotFound } from "../accounts/AccountStore.ts"
import * as AuditLog from "../data/AuditLog.ts"
import { hasLength, isAcceptable, passwordRule, Registrar } from "../accounts/LocalAccounts.ts"
import { AuditRecord, showAudit } from "./audit.ts"
import { defaultLimit, maybe, next, optional, paging, saying, UserId } from "./Input.ts"
import { findAccount, Granted, grants, grantTexts, showGrant } from "./grants.ts"
import { command, type Group, operation } from "./Operation.ts"
import { badRequest, conflict } from "./OperatorErrors.ts"
import { RegistrationRecord, showRegistration } from "./registrations.ts"

const UserRecord = Schema.Struct({
  id: Schema.Int,
  role: User.Role,
  email: Schema.String,
  first_name: Schema.String,
  last_name: Schema.String,
  disabled: Schema.Boolean
}).annotations({ identifier: "User" })

const showUser = (user: User.User, disabled = false): typeof UserRecord.Type => ({
  id: user.id,
  role: user.role,
  email: user.email,
  first_name: user.firstName,
  last_name: user.lastName,
  disabled
})

const showAccount = ({ disabled, user }: Account) => showUser(user, disabled)

const show = (id: User.UserId) => Effect.map(findAccount(id), showAccount)

const setDisabled = (id: User.UserId, disabled: boolean) =>
  Effect.zipRight(Effect.flatMap(AccountStore, (accounts) => accounts.setDisabled(id, disabled)), show(id))

const id = "the id of the user"

const line = "must be text of at most 200 characters on one line, without control characters"

// The inner message is for clients, which check a password before they send it. It must not repeat the value. Whether it
// is a common one, only the service checks: the list is long.
const NewPassword = Schema.Redacted(saying(
  Text.pipe(Schema.filter(hasLength, { jsonSchema: { minLength: 8, maxLength: 1000 } })),
  passwordRule
))

const requireAcceptable = (password: Redacted.Redacted<string>) =>
  Effect.flatMap(isAcceptable(Redacted.value(password)), (isAllowed) =>
    isAllowed
      ? Effect.void
      : badRequest([{ resource: "Request", field: "password", code: "invalid", message: passwordRule }]))

const createUser = operation({
  request: "POST /users",
  summary: "Create a user",
  description: "Creates a user who signs in with this password.",
  command: {
    name: "user create",
    help: "creates a user who can sign in",
    options: {
      role: "role of the user on the platform",
      email: "e-mail address to sign in with",
      password: { about: "password (default: prompts for it, or reads standard input)", prompt: "Password" },
      first_name: "given name",
      last_name: "family name"
    }
  },
  input: {
    role: saying(User.Role, "must be platform, organizer, club or athlete"),
    email: saying(
      Users.NewUser.fields.email,
      "must be an e-mail address of at most 254 characters, without control characters"
    ),
    password: saying(NewPassword, passwordRule),
    first_name: maybe(saying(Users.NewUser.fields.firstName, line)),
    last_name: maybe(saying(Users.NewUser.fields.lastName, line))
  },
  output: UserRecord,
  status: 201,
  refuses: [409],
  run: ({ email, first_name = "", last_name = "", password, role }) =>
    Registrar.pipe(
      Effect.zipLeft(requireAcceptable(password)),
      Effect.flatMap(({ register }) => register({ role, email, firstName: first_name, lastName: last_name }, password)),
      Effect.map((user) => showUser(user)),
      Effect.catchTag("@startlist/postgres/EmailTaken", () =>
        conflict("User", "email", "taken", `another user has the e-mail address ${email}`))
    )
})

/** Lists users; a command that gets an e-mail address uses it, too. */
export const findUsers = operation({
  request: "GET /users",
  summary: "List users",
  description:
    "Lists users, newest first, page by page, or finds the user with an e-mail address, without regard to case.",
  command: { name: "user list", help: "lists users, newest first" },
  input: {
    email: optional(
      saying(Text.pipe(Schema.minLength(1), Schema.maxLength(254)), "must be the e-mail address to look for")
    ),
    ...paging(UserId)
  },
  output: Schema.Struct({ users: Schema.Array(UserRecord), next: Schema.optional(Schema.Int) }),
  run: ({ after, email, limit = defaultLimit }) =>
    Effect.gen(function*() {
      const accounts = yield* AccountStore
      if (email !== undefined) return { users: Option.toArray(yield* accounts.findByEmail(email)).map(showAccount) }
      const page = yield* accounts.list({ after: Option.fromNullable(after), limit })
      return { users: page.map(showAccount), ...next(page.map(({ user }) => user), limit) }
    })
})

const getUser = operation({
  request: "GET /users/{id}",
  summary: "Show a user",
  description: "Shows a user.",
  command: { name: "user show", help: "shows one user", arguments: { id } },
  input: { id: UserId },
  output: UserRecord,
  refuses: [404],
  run: ({ id }) => show(id)
})

const findByEmail = command({
  name: "user find",
  help: "finds the user with an e-mail address",
  options: { email: "e-mail address, without regard to case" },
  input: { email: Schema.String },
  ask: ({ email }, call) => call(findUsers, { email })
})

const disableUser = operation({
  request: "POST /users/{id}/disable",
  summary: "Disable a user",
  description: "Refuses further sign-ins of the user and ends every session. Applications keep their access.",
  command: {
    name: "user disable",
    help: "disables a user: sign-in is refused and every session ends",
    arguments: { id }
  },
  input: { id: UserId },
  output: UserRecord,
  refuses: [404],
  run: ({ id }) => setDisabled(id, true)
})

const enableUser = operation({
  request: "POST /users/{id}/enable",
  summary: "Enable a user",
  description: "Lets a disabled user sign in again.",
  command: { name: "user enable", help: "enables a disabled user again", arguments: { id } },
  input: { id: UserId },
  output: UserRecord,
  refuses: [404],
  run: ({ id }) => setDisabled(id, false)
})

const endSessions = operation({
  request: "DELETE /users/{id}/sessions",
  summary: "End all sessions of a user",
  description: "Signs the user out everywhere. The password is not changed.",
  command: { name: "user end-sessions", help: "signs the user out everywhere", arguments: { id } },
  input: { id: UserId },
  output: Schema.Void,
  status: 204,
  refuses: [404],
  run: ({ id }) =>
    Effect.zipRight(findAccount(id), Effect.flatMap(AccountStore, (accounts) => accounts.endSessions(id)))
})

const resetPassword = operation({
  request: "POST /users/{id}/password-resets",
  summary: "Create a password reset link",
  description: "Creates a link with which the user can choose another password. It works once, within 24 hours.",
  command: {
    name: "user reset-password",
    help: "prints a link with which the user can choose another password once",
    arguments: { id }
  },
  input: { id: UserId },
  output: Schema.Struct({ url: Schema.String, expires_at: Schema.String }).annotations({ identifier: "PasswordReset" }),
  status: 201,
  refuses: [404],
  run: ({ id }) =>
    Effect.gen(function*() {
      const { makeReset } = yield* Registrar
      const { expiresAt, token } = yield* foundOr(makeReset(id), () => new UserNotFound({ userId: id }))
      const { authUrl } = yield* HttpConfig
      return {
        url: `${authUrl}/reset-password?token=${Redacted.value(token)}`,
        expires_at: DateTime.formatIso(expiresAt)
      }
    })
})

/** All audit entries by or about a user. */
const auditOf = (id: User.UserId) =>
  Effect.gen(function*() {
    const { list } = yield* AuditLog.AuditLog
    const entries: Array<AuditLog.AuditEntry> = []
    let after = Option.none<number>()
    do {
      const page = yield* list({ ...AuditLog.everything, userId: Option.some(id), after, limit: 500 })
      entries.push(...page)
      after = page.length === 500 ? Option.fromNullable(page.at(-1)?.id) : Option.none()
    } while (Option.isSome(after))
    return entries
  })

const Session = Schema.Struct({
  device: Schema.String,
  network: Schema.String,
  started_at: Schema.String,
  seen_at: Schema.String
})

const exportUser = operation({
  request: "GET /users/{id}/export",
  summary: "Export the data about a person",
  description: "Shows the user with sessions, grants, registrations, and all audit entries by or about the user.",
  command: { name: "user export", help: "prints all data about a person as JSON", prints: "json", arguments: { id } },
  input: { id: UserId },
  output: Schema.Struct({
    user: UserRecord,
    sessions: Schema.Array(Session),
    grants: Schema.Array(Granted),
    registrations: Schema.Array(RegistrationRecord),
    audit: Schema.Array(AuditRecord)
  }).annotations({ identifier: "UserExport" }),
  refuses: [404],
  run: ({ id }) =>
    Effect.gen(function*() {
      const user = yield* show(id)
      const sessions = yield* (yield* AccountStore).listSessions(id)
      const stored = yield* (yield* PersonalData).export(id)
      return {
        user,
        sessions: sessions.map(({ origin, seenAt, startedAt }) => ({
          ...origin,
          started_at: DateTime.formatIso(startedAt),
          seen_at: DateTime.formatIso(seenAt)
        })),
        grants: stored.grants.map(showGrant),
        registrations: stored.registrations.map(showRegistration),
        audit: (yield* auditOf(id)).map(showAudit)
      }
    })
})

const eraseUser = operation({
  request: "DELETE /users/{id}",
  summary: "Erase a person",
  description:
    "Erases everything that the person provided. This cannot be undone. The grants are revoked, and the applications are notified.",
  command: { name: "user erase", help: "erases the personal data of a user; this cannot be undone", arguments: { id } },
  input: { id: UserId },
  output: Schema.Void,
  status: 204,
  refuses: [404, 409],
  run: ({ id }) =>
    erase(id).pipe(
      Effect.catchTag("@startlist/core/OwnsApplications", () =>
        conflict(
          "User",
          "id",
          "owns_applications",
          "the user owns applications: end them, or give them another owner first"
        ))
    )
})

const at = "2026-06-01T08:00:00.000Z"

/** Users who can sign in. */
export const users = {
  commands: { name: "user", help: "users who can sign in" },
  texts: {
    ...grantTexts,
    audit: ["Audit entries by or about the user, newest first", undefined],
    device: ["Browser and system at the sign-in. Empty if they are not known", "Firefox, Windows"],
    disabled: ["Whether sign-in is refused", false],
    email: ["E-mail address: unique, without regard to case", "ada@example.org"],
    network: ["Network of the sign-in: an IPv4 address, or the /64 network of an IPv6 address", "192.0.2.7"],
    password: ["At least 8 characters, and not one of the most common passwords", "correct horse battery"],
    registrations: ["The registrations of the athlete, oldest first", undefined],
    seen_at: ["Approximate time of the last use: ISO 8601 in UTC with milliseconds", at],
    sessions: ["Sessions of the user, newest first", undefined],
    started_at: ["Start: ISO 8601 in UTC with milliseconds", at],
    "PasswordReset.expires_at": ["Time until which the link works: ISO 8601 in UTC with milliseconds", at],
    url: [
      "The link. Give it only to the user",
      "https://auth.example.org/reset-password?token=sl_pr_42_t2k1s0_Y2xlYXI"
    ],
    user: ["The user", undefined],
    users: ["One page, newest first", undefined]
  },
  members: {
    createUser,
    findUsers,
    getUser,
    findByEmail,
    ...grants,
    disableUser,
    enableUser,
    endSessions,
    resetPassword,
    exportUser,
    eraseUser
  }
} satisfies Group
