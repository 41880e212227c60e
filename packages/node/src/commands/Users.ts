/** `startlist user …`: people who can sign in. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { asking, common, given, optional, query, text } from "../Asking.ts"
import { CommandFailed, request } from "../OperatorClient.ts"

const id = Args.integer({ name: "id" })

/** The first line of the standard input: no other user of the machine sees it, and no history keeps it. */
const readPassword: Effect.Effect<string, CommandFailed> = Effect.tryPromise({
  try: async () => {
    let input = ""
    for await (const chunk of process.stdin) input += String(chunk)
    return input.split(/\r?\n/, 1)[0] ?? ""
  },
  catch: () => new CommandFailed({ message: "the password cannot be read from the standard input" })
})

const create = Command.make(
  "create",
  {
    role: Options.choice("role", ["platform", "organizer", "club", "athlete"]),
    email: text("email", "the address to sign in with"),
    password: text("password", "the password, or - to read it from the standard input"),
    firstName: optional("first-name", "given name"),
    lastName: optional("last-name", "family name"),
    ...common
  },
  ({ email, firstName, lastName, password, role, ...options }) =>
    asking(
      options,
      (service) =>
        Effect.flatMap(password === "-" ? readPassword : Effect.succeed(password), (password) =>
          request(service, "POST", "/users", {
            role,
            email,
            password,
            ...given({ first_name: firstName, last_name: lastName })
          }))
    )
).pipe(Command.withDescription("registers somebody who can sign in"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "GET", `/users/${id}`))
).pipe(Command.withDescription("shows one user"))

const find = Command.make(
  "find",
  { email: text("email", "the address, in any case"), ...common },
  ({ email, ...options }) =>
    asking(options, (service) => request(service, "GET", `/users${query({ email: Option.some(email) })}`))
).pipe(Command.withDescription("looks for the user with an e-mail address"))

const revoke = Command.make(
  "revoke",
  { id, application: Options.integer("application").pipe(Options.withDescription("its client_id")), ...common },
  ({ application, id, ...options }) =>
    asking(
      options,
      (service) => request(service, "POST", `/users/${id}/revocations`, { client_id: application })
    )
).pipe(Command.withDescription("takes an application's access away, as the user can; its event is sent"))

/** People who can sign in. */
export const user = Command.make("user").pipe(
  Command.withDescription("people who can sign in"),
  Command.withSubcommands([create, show, find, revoke])
)
