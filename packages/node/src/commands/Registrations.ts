/** `startlist registration …`: registrations and their changes. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Arr from "effect/Array"
import * as Option from "effect/Option"
import { RegistrationId } from "@startlist/core/Registration"
import { UserId } from "@startlist/core/User"
import { asking, common, given, idArgument, idOption, optional, optionalId } from "../Asking.ts"

const id = idArgument("id", "the id of the registration", RegistrationId)

const create = Command.make(
  "create",
  {
    athlete: idOption("athlete", "the athlete's user id", UserId),
    organizer: optionalId("organizer", "the organizer's user id", UserId),
    club: optionalId("club", "the club's user id", UserId),
    platform: optionalId("platform", "the platform user's id", UserId),
    platformId: optional("platform-id", "the platform's own identifier of this registration"),
    ...common
  },
  ({ athlete, club, organizer, platform, platformId, ...options }) =>
    asking(options, ({ registrations }) =>
      registrations.createRegistration({
        payload: {
          athlete_id: athlete,
          organizer_id: organizer,
          club_id: club,
          platform_user_id: platform,
          ...given({ platform_id: platformId })
        }
      }))
).pipe(Command.withDescription("creates a registration of an athlete; no event is sent"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ registrations }) => registrations.getRegistration({ path: { id } }))
).pipe(Command.withDescription("shows one registration"))

const change = Command.make(
  "change",
  {
    id,
    status: optional("status", "registration_status"),
    documentType: optional("document-type", "document_type"),
    documentStatus: optional("document-status", "document_status"),
    reasons: Options.text("reason").pipe(
      Options.withDescription("reason; you can repeat this option"),
      Options.repeated
    ),
    comment: optional("comment", "free text"),
    ...common
  },
  ({ comment, documentStatus, documentType, id, reasons, status, ...options }) =>
    asking(options, ({ registrations }) =>
      registrations.changeRegistration({
        path: { id },
        payload: given({
          registration_status: status,
          document_type: documentType,
          document_status: documentStatus,
          reasons: Option.liftPredicate(reasons, Arr.isNonEmptyReadonlyArray),
          comment
        })
      }))
).pipe(Command.withDescription("changes the given fields and notifies the subscribed applications"))

/** In the order of the help. */
export const commands = [create, show, change] as const

/** Registrations. Changes are delivered to subscribed applications. */
export const registration = Command.make("registration").pipe(
  Command.withDescription("registrations and their changes"),
  Command.withSubcommands(commands)
)
