/** `startlist application …`: applications and their secrets. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationId } from "@startlist/core/Application"
import { UserId } from "@startlist/core/User"
import { asking, common, given, idArgument, list, optional, optionalNumber, paging, text } from "../Asking.ts"
import type { Client } from "../OperatorClient.ts"
import { CommandFailed } from "../Target.ts"

const findOwner = ({ users }: Client, email: string) =>
  Effect.gen(function*() {
    const { users: [owner] } = yield* users.findUsers({
      urlParams: { email: Option.some(email), after: Option.none(), limit: 1 }
    })
    if (owner !== undefined) return yield* Schema.decode(UserId)(owner.id)
    return yield* new CommandFailed({ message: `there is no user with the e-mail address ${email}` })
  })

const id = idArgument("client_id", "the application's client_id", ApplicationId)

const redirectUris = Options.text("redirect-uri").pipe(
  Options.withDescription("where users may be sent back to; may be given several times"),
  Options.repeated
)

const requirePkce = Options.choice("require-pkce", ["true", "false"]).pipe(
  Options.withDescription("whether a code is exchanged with its verifier only (RFC 7636)"),
  Options.map((value) => value === "true"),
  Options.optional
)

const links = {
  website: optional("website", "https address that the consent page shows"),
  privacyPolicy: optional("privacy-policy", "https address that the consent page shows"),
  logo: optional("logo", "https address of an image that the consent page shows")
}

const create = Command.make(
  "create",
  {
    name: text("name", "what users see"),
    ownerEmail: text("owner-email", "the e-mail address of a platform user"),
    redirectUris,
    requirePkce,
    ...links,
    more: Args.text({ name: "redirect-uri" }).pipe(Args.withDescription("further redirect URIs"), Args.repeated),
    ...common
  },
  ({ logo, more, name, ownerEmail, privacyPolicy, redirectUris, requirePkce, website, ...options }) =>
    asking(
      options,
      (service) =>
        Effect.flatMap(findOwner(service, ownerEmail), (owner_id) =>
          service.applications.createApplication({
            payload: {
              name,
              owner_id,
              redirect_uris: [...redirectUris, ...more],
              require_pkce: requirePkce,
              ...given({ website, privacy_policy: privacyPolicy, logo })
            }
          }))
    )
).pipe(Command.withDescription("registers an application; shows its secret, this once"))

const listAll = Command.make(
  "list",
  { ...paging(ApplicationId), ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, ({ applications }) =>
      list(
        { after, all, limit },
        ApplicationId,
        (urlParams) => applications.listApplications({ urlParams }),
        (pages) => ({ applications: pages.flatMap(({ applications }) => applications) })
      ))
).pipe(Command.withDescription("lists applications, newest first"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.getApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("shows one application"))

const update = Command.make(
  "update",
  {
    id,
    name: optional("name", "what users see"),
    ownerEmail: optional("owner-email", "the e-mail address of the new owner, a platform user"),
    redirectUris,
    requirePkce,
    ...links,
    ...common
  },
  ({ id, logo, name, ownerEmail, privacyPolicy, redirectUris, requirePkce, website, ...options }) =>
    asking(
      options,
      (service) =>
        Effect.flatMap(Effect.transposeMapOption(ownerEmail, (email) => findOwner(service, email)), (owner_id) =>
          service.applications.changeApplication({
            path: { client_id: id },
            payload: given({
              name,
              owner_id,
              require_pkce: requirePkce,
              website,
              privacy_policy: privacyPolicy,
              logo,
              redirect_uris: Option.liftPredicate(redirectUris, Arr.isNonEmptyReadonlyArray)
            })
          }))
    )
).pipe(
  Command.withDescription(
    "changes what is given; redirect URIs replace all present ones; an empty address removes the link"
  )
)

const rotateSecret = Command.make(
  "rotate-secret",
  {
    id,
    overlap: optionalNumber("overlap-seconds", "how long the present secret stays good; default a day"),
    ...common
  },
  ({ id, overlap, ...options }) =>
    asking(
      options,
      ({ applications }) =>
        applications.rotateSecret({ path: { client_id: id }, payload: { overlap_seconds: overlap } })
    )
).pipe(Command.withDescription("makes a new secret and shows it, this once"))

const signingSecrets = Command.make(
  "signing-secrets",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.showSigningSecrets({ path: { client_id: id } }))
).pipe(Command.withDescription("shows the secrets that sign the application's events"))

const rotateSigningSecret = Command.make(
  "rotate-signing-secret",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.rotateSigningSecret({ path: { client_id: id } }))
).pipe(Command.withDescription("makes a new signing secret; the present one signs too for a day"))

const suspend = Command.make(
  "suspend",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.suspendApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("no token, answer or event for the application; events wait"))

const restore = Command.make(
  "restore",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.restoreApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("a suspended application goes on where it was"))

const revokeAll = Command.make(
  "revoke-all",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.revokeAllGrants({ path: { client_id: id } }))
).pipe(Command.withDescription("ends every token of the application, for all users"))

const end = Command.make(
  "end",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.endApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("ends the application for good, with all that it has"))

/** In the order of the help. */
export const commands = [
  create,
  listAll,
  show,
  update,
  rotateSecret,
  signingSecrets,
  rotateSigningSecret,
  suspend,
  restore,
  revokeAll,
  end
] as const

/** Applications and their secrets. */
export const application = Command.make("application").pipe(
  Command.withDescription("applications and their secrets"),
  Command.withSubcommands(commands)
)
