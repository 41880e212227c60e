/** `startlist application …`: applications and their secrets. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asking, common, given, list, optional, optionalId, paging, query, strange, text } from "../Asking.ts"
import { CommandFailed, request, type Target } from "../OperatorClient.ts"

const Found = Schema.Struct({ users: Schema.Array(Schema.Struct({ id: Schema.Int })) })

const findOwner = (service: Target, email: string) =>
  request(service, "GET", `/users${query({ email: Option.some(email) })}`).pipe(
    Effect.flatMap(Schema.decodeUnknown(Found)),
    Effect.catchTag("ParseError", () => strange(service)),
    Effect.flatMap(({ users }) =>
      users[0] === undefined
        ? new CommandFailed({ message: `there is no user with the e-mail address ${email}` })
        : Effect.succeed(users[0].id)
    )
  )

const id = Args.integer({ name: "client_id" })

const redirectUris = Options.text("redirect-uri").pipe(
  Options.withDescription("where users may be sent back to; may be given several times"),
  Options.repeated
)

const requirePkce = Options.choice("require-pkce", ["true", "false"]).pipe(
  Options.withDescription("whether a code is exchanged with its verifier only (RFC 7636)"),
  Options.map((value) => value === "true"),
  Options.optional
)

const create = Command.make(
  "create",
  {
    name: text("name", "what users see"),
    ownerEmail: text("owner-email", "the e-mail address of a platform user"),
    redirectUris,
    requirePkce,
    more: Args.text({ name: "redirect-uri" }).pipe(Args.repeated),
    ...common
  },
  ({ more, name, ownerEmail, redirectUris, requirePkce, ...options }) =>
    asking(
      options,
      (service) =>
        Effect.flatMap(findOwner(service, ownerEmail), (ownerId) =>
          request(service, "POST", "/applications", {
            name,
            owner_id: ownerId,
            redirect_uris: [...redirectUris, ...more],
            ...given({ require_pkce: requirePkce })
          }))
    )
).pipe(Command.withDescription("registers an application; shows its secret, this once"))

const listAll = Command.make(
  "list",
  { ...paging, ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, (service) => list(service, "/applications", "applications", { after, all, limit }))
).pipe(Command.withDescription("lists applications, newest first"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "GET", `/applications/${id}`))
).pipe(Command.withDescription("shows one application"))

const update = Command.make(
  "update",
  { id, name: optional("name", "what users see"), redirectUris, requirePkce, ...common },
  ({ id, name, redirectUris, requirePkce, ...options }) =>
    asking(options, (service) =>
      request(service, "PATCH", `/applications/${id}`, {
        ...given({ name, require_pkce: requirePkce }),
        ...(redirectUris.length === 0 ? {} : { redirect_uris: redirectUris })
      }))
).pipe(Command.withDescription("changes what is given; redirect URIs take the place of all that there were"))

const rotateSecret = Command.make(
  "rotate-secret",
  { id, overlap: optionalId("overlap-seconds", "how long the present secret stays good; default a day"), ...common },
  ({ id, overlap, ...options }) =>
    asking(
      options,
      (service) => request(service, "POST", `/applications/${id}/secrets`, given({ overlap_seconds: overlap }))
    )
).pipe(Command.withDescription("makes a new secret and shows it, this once"))

const signingSecrets = Command.make(
  "signing-secrets",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "GET", `/applications/${id}/signing-secrets`))
).pipe(Command.withDescription("shows the secrets that sign the application's events"))

const rotateSigningSecret = Command.make(
  "rotate-signing-secret",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "POST", `/applications/${id}/signing-secrets`))
).pipe(Command.withDescription("makes a new signing secret; the present one signs too for a day"))

/** Applications and their secrets. */
export const application = Command.make("application").pipe(
  Command.withDescription("applications and their secrets"),
  Command.withSubcommands([create, listAll, show, update, rotateSecret, signingSecrets, rotateSigningSecret])
)
