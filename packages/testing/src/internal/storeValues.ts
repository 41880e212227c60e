/** Values of records in random programs over the stores. */
import { ApplicationId } from "@startlist/core/Application"
import { Audience, type Event, type Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import { maxId } from "@startlist/core/Store"
import { type User, UserId } from "@startlist/core/User"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import type { Fixture } from "./fixture.ts"
import { applicationOf, type Draw, later, type Subjects } from "./storeCall.ts"

/** Fields of an application. */
export const settings = FastCheck.tuple(Arbitraries.settings, Arbitraries.clientSecrets).map(([fields, secrets]) => ({
  ...fields,
  secrets
}))

export const signingSecrets = FastCheck.array(
  FastCheck.tuple(Arbitraries.lifetime, Arbitraries.nonEmptyText())
    .map(([fields, value]) => ({ ...fields, value: Redacted.make(value) })),
  { minLength: 1, maxLength: 6 }
)

/** Fields of a subscription. */
export const callbacks = FastCheck.record({
  callbackUrl: Arbitraries.nonEmptyText(255),
  createdAt: Arbitraries.instant,
  updatedAt: Arbitraries.instant
})

const scope = FastCheck.array(Arbitraries.scopeName, { maxLength: 4 })
const span = FastCheck.tuple(Arbitraries.instant, Arbitraries.instant)

const grants = FastCheck.record({
  scopes: FastCheck.tuple(scope, scope, scope),
  epoch: FastCheck.nat(),
  generation: FastCheck.nat(),
  lineStart: FastCheck.nat(),
  grantedAt: Arbitraries.instant,
  role: FastCheck.constantFrom<Grant["role"]>("platform", "organizer", "club", "athlete"),
  refresh: Arbitraries.option(span),
  codes: FastCheck.array(
    FastCheck.record({
      redirectUri: Arbitraries.text(),
      scope,
      state: Arbitraries.option(Arbitraries.text(4096)),
      challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
      expiresAt: Arbitraries.instant,
      redeemed: Arbitraries.option(FastCheck.record({ at: Arbitraries.instant, line: FastCheck.nat() }))
    }),
    { maxLength: 20 }
  ),
  // Several tokens share a scope: that of the grant, or of an earlier consent.
  tokens: FastCheck.array(FastCheck.tuple(span, FastCheck.nat(2)), { maxLength: 20 })
})

/** Fields of a grant. */
export const grantFields = (by: Fixture, draw: Draw): Partial<Grant> => {
  const { codes, refresh, scopes, tokens, ...fields } = draw.any(grants)
  return {
    ...fields,
    scope: scopes[0],
    refresh: Option.map(refresh, ([issuedAt, expiresAt]) => by.refresh({ issuedAt, expiresAt })),
    codes: codes.map(by.code),
    access: tokens.map(([[createdAt, expiresAt], kind]) =>
      by.access({ createdAt, expiresAt, scope: scopes[kind] ?? [] })
    )
  }
}

/** An event, usually about one of few objects. */
const event = ({ now }: Subjects, by: Fixture, draw: Draw): Event => {
  const objectType = draw.choice("registration", "registration", "athlete", "organizer")
  const about = objectType === "registration" ? {} : { aspectType: "deleted", updates: {} } as const
  const fields = draw.number(6) === 5 && objectType === "registration"
    ? {
      updates: draw.any(Arbitraries.updates),
      trace: draw.any(Arbitraries.trace),
      sequence: draw.any(Arbitraries.bigId)
    }
    : {}
  const objectId = draw.choice(1, 2, 3, 1, 2, 3, 11, 12, 21, 2 ** 31, 2 ** 53 - 2, maxId)
  const time = later(now, draw.choice(0, 0, -3, 7) + draw.choice(0, 0, 0.001, 0.5))
  return by.event(objectId, time, { ...about, ...fields, objectType })
}

/** Events, usually about few objects, for one application or for those of several users. */
export const events = (
  subjects: Subjects,
  by: Fixture,
  draw: Draw,
  users: ReadonlyArray<User> = subjects.users
): ReadonlyArray<Outgoing> => {
  const { id: applicationId } = applicationOf(subjects, draw) ?? { id: ApplicationId.make(maxId) }
  const number = draw.choice(2, 1, 3, 0, 0, draw.choice(1, 2, 4, 60))
  return Array.from({ length: number }, () => {
    const others = Array.from({ length: draw.choice(0, 0, 0, 40) }, (_, place) => UserId.make(place + 1))
    const userIds = [...others, ...draw.some(users).map(({ id }) => id)]
    const audience = draw.choice<Audience>(
      Audience.Application({ applicationId }),
      Audience.GrantedBy({ userIds }),
      Audience.Application({ applicationId: applicationOf(subjects, draw)?.id ?? applicationId })
    )
    return { event: event(subjects, by, draw), audience }
  })
}
