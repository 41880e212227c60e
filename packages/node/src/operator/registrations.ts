/** Registrations. A change is saved together with its events. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Event from "@startlist/core/Event"
import { emptyUpdates, type Registration } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Text } from "@startlist/core/Store"
import { maybe, optional, RegistrationId, saying, UserId, Words } from "./Input.ts"
import { type Group, operation } from "./Operation.ts"

export const RegistrationRecord = Schema.Struct({
  id: Schema.Int,
  athlete_id: Schema.Int,
  organizer_id: Schema.NullOr(Schema.Int),
  club_id: Schema.NullOr(Schema.Int),
  platform_user_id: Schema.NullOr(Schema.Int),
  ...Event.Updates.fields
}).annotations({ identifier: "Registration" })

export const showRegistration = ({ id, parties, updates }: Registration): typeof RegistrationRecord.Type => ({
  id,
  athlete_id: parties.athleteId,
  organizer_id: Option.getOrNull(parties.organizerId),
  club_id: Option.getOrNull(parties.clubId),
  platform_user_id: Option.getOrNull(parties.platformUserId),
  ...updates
})

const updates = {
  platform_id: optional(Words),
  registration_status: optional(Words),
  document_type: optional(Words),
  document_status: optional(Words),
  reasons: optional(saying(Schema.Array(Text), "must be an array of texts")),
  comment: optional(Words)
}

const createRegistration = operation({
  request: "POST /registrations",
  summary: "Create a registration",
  description: "Creates a registration of an athlete. It causes no event.",
  command: {
    name: "registration create",
    help: "creates a registration of an athlete; no event is sent",
    options: {
      athlete_id: { name: "athlete", about: "the athlete's user id" },
      organizer_id: { name: "organizer", about: "the organizer's user id" },
      club_id: { name: "club", about: "the club's user id" },
      platform_user_id: { name: "platform", about: "the platform user's id" },
      platform_id: "the platform's own identifier of this registration"
    }
  },
  input: {
    athlete_id: UserId,
    organizer_id: maybe(UserId),
    club_id: maybe(UserId),
    platform_user_id: maybe(UserId),
    ...updates
  },
  output: RegistrationRecord,
  status: 201,
  refuses: [422],
  run: ({ athlete_id, club_id, organizer_id, platform_user_id, ...given }) =>
    Effect.map(
      Effect.flatMap(Registrations, ({ create }) =>
        create({
          parties: {
            athleteId: athlete_id,
            organizerId: Option.fromNullable(organizer_id),
            clubId: Option.fromNullable(club_id),
            platformUserId: Option.fromNullable(platform_user_id)
          },
          updates: { ...emptyUpdates, ...given }
        })),
      showRegistration
    )
})

const id = "the id of the registration"

const getRegistration = operation({
  request: "GET /registrations/{id}",
  summary: "Show a registration",
  description: "Shows a registration.",
  command: { name: "registration show", help: "shows one registration", arguments: { id } },
  input: { id: RegistrationId },
  output: RegistrationRecord,
  refuses: [404],
  run: ({ id }) => Effect.map(Effect.flatMap(Registrations, ({ find }) => find(id)), showRegistration)
})

const changeRegistration = operation({
  request: "PATCH /registrations/{id}",
  summary: "Change a registration",
  description: "Changes the given fields only. The events about the change are saved in the same transaction.",
  command: {
    name: "registration change",
    help: "changes the given fields and notifies the subscribed applications",
    arguments: { id },
    options: {
      registration_status: { name: "status", about: "registration_status" },
      document_type: "document_type",
      document_status: "document_status",
      reasons: { name: "reason", about: "reason; you can repeat this option" },
      comment: "free text"
    }
  },
  input: { id: RegistrationId, ...updates },
  output: RegistrationRecord,
  refuses: [404],
  run: ({ id, ...given }) =>
    Effect.map(Effect.flatMap(Registrations, ({ change }) => change(id, given)), showRegistration)
})

/** Registrations of athletes. */
export const registrations = {
  commands: { name: "registration", help: "registrations and their changes" },
  texts: {
    athlete_id: ["The athlete of the registration", 42],
    club_id: ["The club of the registration", 44],
    organizer_id: ["The organizer of the registration", 43],
    platform_user_id: ["The platform user of the registration", 41]
  },
  members: { createRegistration, getRegistration, changeRegistration }
} satisfies Group
