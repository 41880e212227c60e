/** Creates users, applications and registrations. */
import { Applications } from "@startlist/core/Applications"
import { emptyUpdates } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import type { Role, User } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Reaction, ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import { TestUsers } from "../TestUsers.ts"
import { type ProgramFixture } from "./programFixture.ts"
import { outcome, push } from "./performed.ts"

/** The one redirect URI of every application. */
export const redirectUri = "https://app.example.test/callback"

export const createUser = (fixture: ProgramFixture, label: string, role: Role) =>
  Effect.gen(function*() {
    const email = `user-${label}-${fixture.named++}@example.test`
    const users = yield* TestUsers
    fixture.users.push(yield* users.add({ role, email, firstName: "A", lastName: "B" }))
  })

export const createApplication = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const callbacks = yield* ScriptedCallbacks
    const owner = yield* Effect.fromNullable(fixture.users[0])
    const callbackUrl = `https://app${fixture.named++}.example.test`
    const settings = { name: "application", redirectUris: [redirectUri], requirePkce: false }
    const { application, secret } = yield* applications.create(owner.id, settings)
    yield* callbacks.always(`${callbackUrl}/wrong`, Reaction.Say({ body: "{\"hub.challenge\":\"wrong\"}" }))
    yield* callbacks.always(`${callbackUrl}/hanging`, Reaction.Hang())
    fixture.applications.push({ id: application.id, secret, callbackUrl })
  })

export const createRegistration = (fixture: ProgramFixture, athlete: User, organizer: User | undefined) =>
  Effect.gen(function*() {
    const registrations = yield* Registrations
    const parties = {
      athleteId: athlete.id,
      organizerId: Option.map(Option.fromNullable(organizer), ({ id }) => id),
      clubId: Option.none(),
      platformUserId: Option.none()
    }
    const created = yield* outcome(registrations.create({ parties, updates: emptyUpdates }))
    return {
      ...created,
      _tag: "RegistrationCreated" as const,
      registration: created.value === undefined ? -1 : push(fixture.registrations, created.value.id),
      parties: [athlete, organizer].flatMap((user) => user === undefined ? [] : [fixture.users.indexOf(user)])
    }
  })
