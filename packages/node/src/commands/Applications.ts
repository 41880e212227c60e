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
import { CommandFailed } from "./Terminal.ts"

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
  Options.withDescription("URL to which users may be sent back; you can repeat this option"),
  Options.repeated
)

const requirePkce = Options.choice("require-pkce", ["true", "false"]).pipe(
  Options.withDescription("whether the application must use PKCE (RFC 7636)"),
  Options.map((value) => value === "true"),
  Options.optional
)

const links = {
  website: optional("website", "https URL of the website, shown on the consent page"),
  privacyPolicy: optional("privacy-policy", "https URL of the privacy policy, shown on the consent page"),
  logo: optional("logo", "https URL of an image, shown on the consent page")
}

const create = Command.make(
  "create",
  {
    name: text("name", "name that users see"),
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
).pipe(Command.withDescription("registers an application and shows its secret, only this once"))

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
    name: optional("name", "name that users see"),
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
    "changes the given settings; redirect URIs replace all present ones; an empty URL removes the link"
  )
)

const overlap = optionalNumber(
  "overlap-seconds",
  "seconds for which the present secret stays valid; 0 ends all others (default: SECRET_OVERLAP)"
)

const rotateSecret = Command.make(
  "rotate-secret",
  {
    id,
    overlap,
    ...common
  },
  ({ id, overlap, ...options }) =>
    asking(
      options,
      ({ applications }) =>
        applications.rotateSecret({ path: { client_id: id }, payload: { overlap_seconds: overlap } })
    )
).pipe(Command.withDescription("makes a new client secret and shows it, only this once"))

const secrets = Command.make(
  "secrets",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ applications }) => applications.listSecrets({ path: { client_id: id } }))
).pipe(Command.withDescription("lists the live client and signing secrets: number and end of each"))

const endSecret = Command.make(
  "end-secret",
  {
    id,
    number: idArgument("number", "the number of the secret, as `secrets` lists it", Schema.Int.pipe(Schema.positive())),
    signing: Options.boolean("signing").pipe(Options.withDescription("end a signing secret, not a client secret")),
    ...common
  },
  ({ id, number, signing, ...options }) =>
    asking(options, ({ applications }) => {
      const path = { client_id: id, number }
      return signing ? applications.endSigningSecret({ path }) : applications.endSecret({ path })
    })
).pipe(Command.withDescription("ends a replaced secret before its time"))

const signingSecret = Command.make(
  "signing-secret",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.showSigningSecrets({ path: { client_id: id } }))
).pipe(Command.withDescription("shows the signing secrets, newest first: all of them sign"))

const rotateSigningSecret = Command.make(
  "rotate-signing-secret",
  { id, overlap, ...common },
  ({ id, overlap, ...options }) =>
    asking(
      options,
      ({ applications }) =>
        applications.rotateSigningSecret({ path: { client_id: id }, payload: { overlap_seconds: overlap } })
    )
).pipe(Command.withDescription("makes a new signing secret; the others also sign until they end"))

const suspend = Command.make(
  "suspend",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.suspendApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("suspends an application: its requests are refused and its events wait"))

const restore = Command.make(
  "restore",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.restoreApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("restores a suspended application and delivers its waiting events"))

const revokeAll = Command.make(
  "revoke-all",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.revokeAllGrants({ path: { client_id: id } }))
).pipe(Command.withDescription("revokes all grants of the application, for all users"))

const end = Command.make(
  "end",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ applications }) => applications.endApplication({ path: { client_id: id } }))
).pipe(Command.withDescription("ends the application with its secrets, grants and subscription; this cannot be undone"))

/** In the order of the help. */
export const commands = [
  create,
  listAll,
  show,
  update,
  secrets,
  rotateSecret,
  endSecret,
  signingSecret,
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
