/** The command line: `startlist <command>`. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asking, common, given, optional, optionalId, query } from "./Asking.ts"
import * as Configuration from "./Configuration.ts"
import { CommandFailed, request, type Target } from "./OperatorClient.ts"

const Found = Schema.Struct({ users: Schema.Array(Schema.Struct({ id: Schema.Int })) })

const findOwner = (service: Target, email: string) =>
  request(service, "GET", `/users${query({ email: Option.some(email) })}`).pipe(
    Effect.flatMap(Schema.decodeUnknown(Found)),
    Effect.catchTag("ParseError", () => new CommandFailed({ message: `${service.url} is no Startlist service` })),
    Effect.flatMap(({ users }) =>
      users[0] === undefined
        ? new CommandFailed({ message: `there is no user with the e-mail address ${email}` })
        : Effect.succeed(users[0].id)
    )
  )

const id = Args.integer({ name: "id" })

const applicationCreate = Command.make(
  "create",
  {
    name: Options.text("name"),
    ownerEmail: Options.text("owner-email").pipe(Options.withDescription("the e-mail address of a platform user")),
    redirectUris: Options.text("redirect-uri").pipe(Options.repeated),
    more: Args.text({ name: "redirect-uri" }).pipe(Args.repeated),
    ...common
  },
  ({ more, name, ownerEmail, redirectUris, ...options }) =>
    asking(
      options,
      (service) =>
        Effect.flatMap(findOwner(service, ownerEmail), (ownerId) =>
          request(service, "POST", "/applications", {
            name,
            owner_id: ownerId,
            redirect_uris: [...redirectUris, ...more]
          }))
    )
)

const applicationList = Command.make(
  "list",
  { after: optionalId("after", "continue behind this client_id"), ...common },
  ({ after, ...options }) => asking(options, (service) => request(service, "GET", `/applications${query({ after })}`))
)

const applicationRotate = Command.make(
  "rotate-secret",
  { id, overlap: optionalId("overlap-seconds", "how long the present secret stays good"), ...common },
  ({ id, overlap, ...options }) =>
    asking(
      options,
      (service) => request(service, "POST", `/applications/${id}/secrets`, given({ overlap_seconds: overlap }))
    )
)

const application = Command.make("application").pipe(
  Command.withDescription("applications and their secrets"),
  Command.withSubcommands([applicationCreate, applicationList, applicationRotate])
)

const userCreate = Command.make(
  "create",
  {
    role: Options.choice("role", ["platform", "organizer", "club", "athlete"]),
    email: Options.text("email"),
    password: Options.text("password"),
    firstName: optional("first-name", "given name"),
    lastName: optional("last-name", "family name"),
    ...common
  },
  ({ email, firstName, lastName, password, role, ...options }) =>
    asking(options, (service) =>
      request(service, "POST", "/users", {
        role,
        email,
        password,
        ...given({ first_name: firstName, last_name: lastName })
      }))
)

const user = Command.make("user").pipe(
  Command.withDescription("people who can sign in"),
  Command.withSubcommands([userCreate])
)

const registrationCreate = Command.make(
  "create",
  {
    athlete: Options.integer("athlete").pipe(Options.withDescription("the athlete's user id")),
    organizer: optionalId("organizer", "the organizer's user id"),
    club: optionalId("club", "the club's user id"),
    platform: optionalId("platform", "the platform user's id"),
    platformId: optional("platform-id", "the platform's own identifier of this registration"),
    ...common
  },
  ({ athlete, club, organizer, platform, platformId, ...options }) =>
    asking(options, (service) =>
      request(service, "POST", "/registrations", {
        athlete_id: athlete,
        ...given({
          organizer_id: organizer,
          club_id: club,
          platform_user_id: platform,
          platform_id: platformId
        })
      }))
)

const registrationChange = Command.make(
  "change",
  {
    id,
    status: optional("status", "registration_status"),
    documentType: optional("document-type", "document_type"),
    documentStatus: optional("document-status", "document_status"),
    reasons: Options.text("reason").pipe(Options.withDescription("may be given several times"), Options.repeated),
    comment: optional("comment", "free text"),
    ...common
  },
  ({ comment, documentStatus, documentType, id, reasons, status, ...options }) =>
    asking(options, (service) =>
      request(service, "PATCH", `/registrations/${id}`, {
        ...given({
          registration_status: status,
          document_type: documentType,
          document_status: documentStatus,
          comment
        }),
        ...(reasons.length === 0 ? {} : { reasons })
      }))
)

const registration = Command.make("registration").pipe(
  Command.withDescription("registrations; a change is told to the applications concerned"),
  Command.withSubcommands([registrationCreate, registrationChange])
)

const deliveryList = Command.make(
  "list",
  {
    state: Options.choice("state", ["pending", "delivered", "exhausted", "cancelled"]).pipe(Options.optional),
    application: optionalId("application", "only this client_id's"),
    after: optionalId("after", "continue behind this id"),
    ...common
  },
  ({ after, application, state, ...options }) =>
    asking(
      options,
      (service) => request(service, "GET", `/deliveries${query({ state, client_id: application, after })}`)
    )
)

const deliveryRedeliver = Command.make(
  "redeliver",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "POST", `/deliveries/${id}/redeliver`))
)

const delivery = Command.make("delivery").pipe(
  Command.withDescription("what was sent to callbacks"),
  Command.withSubcommands([deliveryList, deliveryRedeliver])
)

/** The service's own code is loaded by the commands that need it: clients start faster without. */
const serve = Command.make(
  "serve",
  {},
  () => Effect.flatMap(Effect.promise(() => import("./Serve.ts")), ({ serve }) => serve)
).pipe(Command.withDescription("runs the service"))

const migrate = Command.make("migrate", {}, () =>
  Effect.gen(function*() {
    const settings = yield* Configuration.current
    const { load } = yield* Effect.promise(() => import("./Keys.ts"))
    const Database = yield* Effect.promise(() => import("./Database.ts"))
    const keys = yield* load(settings)
    const { description } = yield* Effect.provide(Database.Database, Database.layer(settings, keys))
    yield* Console.log(`${description}: the tables are up to date`)
  })).pipe(Command.withDescription("brings the database's tables up to date"))

const doctor = Command.make("doctor", { callback: optional("callback", "a callback URL to send a validation to") }, (
  { callback }
) =>
  Effect.gen(function*() {
    const settings = yield* Configuration.current
    const { examine } = yield* Effect.promise(() => import("./Doctor.ts"))
    yield* examine(settings, callback)
  })).pipe(Command.withDescription("checks configuration, database, clock and callback reachability"))

/** All commands. */
export const startlist = Command.make("startlist").pipe(
  Command.withDescription("OAuth 2.0 and webhooks for sports registrations"),
  Command.withSubcommands([serve, migrate, doctor, application, user, registration, delivery])
)
