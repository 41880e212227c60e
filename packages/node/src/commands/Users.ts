/** `startlist user …`: users who can sign in. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { ApplicationId } from "@startlist/core/Application"
import { Role, UserId } from "@startlist/core/User"
import { asking, common, idArgument, idOption, list, optional, paging, text } from "../Asking.ts"
import { readSecret } from "./Terminal.ts"

const id = idArgument("id", "the id of the user", UserId)

const create = Command.make(
  "create",
  {
    role: Options.choice("role", Role.literals).pipe(Options.withDescription("role of the user on the platform")),
    email: text("email", "e-mail address to sign in with"),
    password: Options.redacted("password").pipe(
      Options.withDescription("password (default: prompts for it, or reads standard input)"),
      Options.withDefault(Redacted.make("-"))
    ),
    firstName: optional("first-name", "given name"),
    lastName: optional("last-name", "family name"),
    ...common
  },
  ({ email, firstName, lastName, password, role, ...options }) =>
    asking(
      options,
      ({ users }) =>
        Effect.flatMap(
          Redacted.value(password) === "-" ? readSecret("Password") : Effect.succeed(password),
          (password) =>
            users.createUser({ payload: { role, email, password, first_name: firstName, last_name: lastName } })
        )
    )
).pipe(Command.withDescription("creates a user who can sign in"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.getUser({ path: { id } }))
).pipe(Command.withDescription("shows one user"))

const find = Command.make(
  "find",
  { email: text("email", "e-mail address, without regard to case"), ...common },
  ({ email, ...options }) =>
    asking(
      options,
      ({ users }) => users.findUsers({ urlParams: { email: Option.some(email), after: Option.none(), limit: 1 } })
    )
).pipe(Command.withDescription("finds the user with an e-mail address"))

const listAll = Command.make(
  "list",
  { ...paging(UserId), ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, ({ users }) =>
      list(
        { after, all, limit },
        UserId,
        (page) => users.findUsers({ urlParams: { ...page, email: Option.none() } }),
        (pages) => ({ users: pages.flatMap(({ users }) => users) })
      ))
).pipe(Command.withDescription("lists users, newest first"))

const disable = Command.make(
  "disable",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.disableUser({ path: { id } }))
).pipe(Command.withDescription("disables a user: sign-in is refused and every session ends"))

const enable = Command.make(
  "enable",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.enableUser({ path: { id } }))
).pipe(Command.withDescription("enables a disabled user again"))

const endSessions = Command.make(
  "end-sessions",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.endSessions({ path: { id } }))
).pipe(Command.withDescription("signs the user out everywhere"))

const resetPassword = Command.make(
  "reset-password",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.resetPassword({ path: { id } }))
).pipe(Command.withDescription("prints a link with which the user can choose another password once"))

const exportAll = Command.make(
  "export",
  { id, ...common },
  ({ id, ...options }) => asking({ ...options, json: true }, ({ users }) => users.exportUser({ path: { id } }))
).pipe(Command.withDescription("prints all data about a person as JSON"))

const erase = Command.make(
  "erase",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ users }) => users.eraseUser({ path: { id } }))
).pipe(Command.withDescription("erases the personal data of a user; this cannot be undone"))

const revoke = Command.make(
  "revoke",
  { id, application: idOption("application", "client_id of the application", ApplicationId), ...common },
  ({ application, id, ...options }) =>
    asking(options, ({ users }) => users.revokeForUser({ path: { id }, payload: { client_id: application } }))
).pipe(Command.withDescription("revokes the access of an application, as the user could; an event is sent"))

/** In the order of the help. */
export const commands = [
  create,
  listAll,
  show,
  find,
  revoke,
  disable,
  enable,
  endSessions,
  resetPassword,
  exportAll,
  erase
] as const

/** Users who can sign in. */
export const user = Command.make("user").pipe(
  Command.withDescription("users who can sign in"),
  Command.withSubcommands(commands)
)
