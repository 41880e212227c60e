/** Who takes part: applications, users of every role, registrations. They are there before the counterexample begins. */
import { Applications, type ClientCredentials } from "@startlist/core/Applications"
import type { Access } from "@startlist/core/Access"
import { emptyUpdates, type RegistrationId } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Secrets } from "@startlist/core/Secrets"
import type { Role, User } from "@startlist/core/User"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Application } from "@startlist/core/Application"
import { TestUsers } from "../../TestUsers.ts"

export interface Client {
  readonly application: Application
  readonly client: ClientCredentials
  readonly redirectUri: string
  /** What its owner's access token lets it do. */
  readonly access: Access
}

export interface Fixture {
  readonly clients: ReadonlyArray<Client>
  readonly users: ReadonlyArray<User>
  readonly registrations: ReadonlyArray<RegistrationId>
}

const roles: ReadonlyArray<Role> = ["athlete", "organizer", "athlete", "club", "platform"]

const count = (length: number) => Array.from({ length }, (_, index) => index)

export const makeFixture = (
  size: { readonly applications: number; readonly users: number; readonly registrations: number }
) =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const registrations = yield* Registrations
    const users = yield* TestUsers
    const person = (role: Role, name: string) =>
      users.add({ role, email: `${name}@example.test`, firstName: name, lastName: role })
    const owner = yield* person("platform", "owner")

    const clients = yield* Effect.forEach(count(size.applications), (index) =>
      Effect.gen(function*() {
        const redirectUri = `https://application-${index}.example.test/authorized`
        const { application, secret } = yield* applications.create(owner.id, {
          name: `application ${index}`,
          redirectUris: [redirectUri],
          requirePkce: index % 2 === 1
        })
        const now = yield* DateTime.now
        const access: Access = {
          applicationId: application.id,
          userId: owner.id,
          role: "platform",
          scope: ["read+write"],
          createdAt: now,
          expiresAt: DateTime.add(now, { hours: 8 })
        }
        return { application, client: { id: application.id, secret }, redirectUri, access }
      }))
    const people = yield* Effect.forEach(count(size.users), (index) =>
      person(roles[index % roles.length] ?? "athlete", `user-${index}`))
    const athletes = people.filter(({ role }) =>
      role === "athlete"
    )
    const organizer = people.find(({ role }) => role === "organizer")
    const known = yield* Effect.forEach(count(size.registrations), (index) =>
      registrations.create({
        parties: {
          athleteId: (athletes[index % athletes.length] ?? owner).id,
          organizerId: index % 2 === 0 ? Option.map(Option.fromNullable(organizer), ({ id }) => id) : Option.none(),
          clubId: Option.none(),
          platformUserId: Option.none()
        },
        updates: emptyUpdates
      }))
    return { clients, users: people, registrations: known.map(({ id }) => id) } satisfies Fixture
  })

/** A PKCE verifier, and the challenge that goes with it. */
export const pkce = (application: number, user: number): Effect.Effect<readonly [string, string], never, Secrets> =>
  Effect.map(Secrets, ({ hash }) => {
    const verifier = `verifier-of-application-${application}-for-user-${user}-long-enough`
    return [verifier, hash(verifier)]
  })
