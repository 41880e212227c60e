/** `startlist registration …`: registrations and their changes. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { asking, common, given, optional, optionalId } from "../Asking.ts"
import { request } from "../OperatorClient.ts"

const id = Args.integer({ name: "id" })

const create = Command.make(
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
).pipe(Command.withDescription("registers an athlete; no event is sent"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "GET", `/registrations/${id}`))
).pipe(Command.withDescription("shows one registration"))

const change = Command.make(
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
).pipe(Command.withDescription("changes what is given; the applications concerned are told"))

/** Registrations; a change is told to the applications concerned. */
export const registration = Command.make("registration").pipe(
  Command.withDescription("registrations; a change is told to the applications concerned"),
  Command.withSubcommands([create, show, change])
)
