/** The finds of random programs over the stores. */
import { ApplicationId } from "@startlist/core/Application"
import { type DeliveryFilter, DeliveryId, type LogRequest, State } from "@startlist/core/Delivery"
import type { Grant } from "@startlist/core/Grant"
import { maxId } from "@startlist/core/Store"
import type { SubscriptionId } from "@startlist/core/Subscription"
import type { User } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { holds, tagOf } from "./expecting.ts"
import type { Fixture } from "./fixture.ts"
import {
  applicationOf,
  type Call,
  call,
  found,
  type MakeCall,
  optional,
  type Part,
  type Subjects
} from "./storeCall.ts"
import type { Page, StoreModel } from "./storeModel.ts"

/** A page of the records of all owners, newest first: those of the program, and behind them those of other laws. */
const pageOfAll = (
  expected: ReadonlyArray<unknown>,
  answer: ReadonlyArray<{ readonly id: number }>,
  { after, limit }: Page<number>
): ReadonlyArray<unknown> => {
  const last = answer[expected.length - 1]?.id ?? Option.getOrElse(after, () => Infinity)
  return [...expected, ...answer.slice(expected.length, limit).filter(({ id }) => id < last)]
}

const listOfAll = (
  list: Effect.Effect<ReadonlyArray<{ readonly id: number }>, unknown>,
  page: Page<number>,
  expected: (model: StoreModel) => ReadonlyArray<unknown>
): Call => call(list, (model, answer) => pageOfAll(expected(model), answer, page))

const finds = {
  application: (by: Fixture, id: ApplicationId) =>
    found(by.applications.find(id), (model) => optional(model.applications.get(id))),
  signingSecrets: (by: Fixture, id: ApplicationId) =>
    found(by.applications.findSigningSecrets(id), (model) => optional(model.signingSecrets.get(id))),
  subscription: (by: Fixture, id: ApplicationId) =>
    found(by.subscriptions.findByApplication(id), (model) => optional(model.subscriptionOf(id))),
  applications: (by: Fixture, { id }: User, page: Page<ApplicationId>) =>
    found(
      by.applications.list({ ...page, owner: Option.some(id) }),
      (model) => model.listApplications(Option.some(id), page)
    ),
  allApplications: (by: Fixture, page: Page<ApplicationId>) =>
    listOfAll(
      by.applications.list({ ...page, owner: Option.none() }),
      page,
      (model) => model.listApplications(Option.none(), page)
    ),
  subscriptions: (by: Fixture, page: Page<SubscriptionId>) =>
    listOfAll(by.subscriptions.list(page), page, (model) => model.listSubscriptions(page)),
  registration: (by: Fixture, id: Parameters<Fixture["registrations"]["find"]>[0]) =>
    found(by.registrations.find(id), (model) => optional(model.registrations.get(id))),
  grant: (by: Fixture, id: ApplicationId, user: User) =>
    found(
      Effect.map(
        by.grants.find(id, user.id),
        Option.map(({ application: { epoch, state, version }, grant }) => ({ epoch, state, version, grant }))
      ),
      (model) => {
        const [application, grant] = [model.applications.get(id), model.grant(id, user.id)]
        if (grant === undefined || application === undefined) return null
        const { epoch, state, version } = application
        return { epoch, state, version, grant }
      }
    ),
  // Of the same instant in any order.
  grantsOfUser: (by: Fixture, user: User) =>
    found(by.grants.listByUser(user.id), (model, answer = []) => {
      const place = ({ applicationId }: Grant) => answer.findIndex((one) => one.applicationId === applicationId)
      return model.activeGrants.filter(({ userId }) => userId === user.id).sort((a, b) =>
        a.grantedAt.epochMillis - b.grantedAt.epochMillis || place(a) - place(b)
      )
    }),
  // In any order.
  grantsOfApplication: (by: Fixture, id: ApplicationId, limit: number) =>
    call(by.grants.listByApplication(id, limit), (model, answer) => {
      const all = model.activeGrants.filter(({ applicationId }) => applicationId === id)
      const order = (one: { readonly userId: number }) => answer.findIndex(({ userId }) => userId === one.userId)
      const shown = all.filter((one) => order(one) >= 0).sort((a, b) => order(a) - order(b))
      return shown.length === Math.min(limit, all.length) ? shown : all.slice(0, limit)
    }),
  delivery: (by: Fixture, id: DeliveryId) =>
    found(by.deliveries.find(id), (model) => {
      const one = model.deliveries.find((one) => one.id === id)
      return one ? { ...one.delivery, id } : null
    }),
  deliveries: (by: Fixture, filter: DeliveryFilter) =>
    found(by.deliveries.list(filter), (model, answer) => {
      if (answer !== undefined) model.learn(answer)
      return model.listDeliveries(filter)
    }),
  // Behind them are those of other laws.
  allDeliveries: (by: Fixture, filter: Omit<DeliveryFilter, "applicationId">) => {
    const all = { ...filter, applicationId: Option.none() }
    return call(by.deliveries.list(all), (model, answer) => {
      model.learn(answer)
      return pageOfAll(model.listDeliveries(all), answer, all)
    }, { isAlone: true })
  },
  log: (by: Fixture, request: LogRequest) =>
    call(by.deliveries.log(request), (model, answer) => {
      model.learn(answer.map(({ delivery }) => delivery))
      const entries = model.log(request)
      const positions = answer.map(({ position }) => position)
      const isBehind = positions.every((position, place) => position > (positions[place - 1] ?? request.after))
      holds(isBehind, `positions ${positions.join(", ")} are behind ${request.after} and in order`)
      const expected = entries.map(({ delivery, id, position }, place) => ({
        position: position ?? positions[place],
        delivery: { ...delivery, id }
      }))
      if (answer.length === entries.length) model.seen(entries, positions)
      return expected
    })
} as const

/** All deliveries of an application. */
export const deliveriesOf = (by: Fixture, id: ApplicationId): Call =>
  finds.deliveries(by, { applicationId: Option.some(id), state: Option.none(), after: Option.none(), limit: 1000 })

/** Everything that finds of these parts show. */
export const everything = ({ model, parts, users }: Subjects, by: Fixture): ReadonlyArray<Call> => {
  const page = { after: Option.none(), limit: 1000 }
  const ids = [...model.applications.keys()]
  const third = optional(model.deliveries.at(-3)?.id)
  const all: Record<Part, () => ReadonlyArray<Call>> = {
    applications: () => [
      ...users.map((user) => finds.applications(by, user, page)),
      ...ids.flatMap((id) => [finds.application(by, id), finds.signingSecrets(by, id)])
    ],
    subscriptions: () => [
      finds.subscriptions(by, { ...page, limit: 4 }),
      ...ids.map((id) => finds.subscription(by, id))
    ],
    outbox: () => [
      ...model.deliveries.slice(-3).flatMap(({ id }) => id === undefined ? [] : [finds.delivery(by, id)]),
      ...ids.flatMap((id) => [
        deliveriesOf(by, id),
        finds.deliveries(by, { ...page, applicationId: Option.some(id), state: Option.some("pending") }),
        finds.deliveries(by, {
          applicationId: Option.some(id),
          state: Option.some("delivered"),
          after: third,
          limit: 2
        })
      ])
    ],
    grants: () => [
      ...users.map((user) => finds.grantsOfUser(by, user)),
      ...ids.flatMap((id) => [
        finds.grantsOfApplication(by, id, 2),
        ...users.map((user) => finds.grant(by, id, user))
      ])
    ],
    registrations: () => [...model.registrations.keys()].map((id) => finds.registration(by, id)),
    queue: () => ids.map((id) => finds.log(by, { applicationId: id, after: 0, limit: 1000 }))
  }
  return parts.flatMap((part) => all[part]())
}

/** A find of anything in these parts. */
export const find: MakeCall = (subjects, by, draw) => {
  const { model, parts, users } = subjects
  const id = applicationOf(subjects, draw)?.id ?? ApplicationId.make(maxId)
  const user = draw.choice(...users)
  const limit = draw.choice(1000, 9, 2, 1)
  const known = model.deliveries.flatMap(({ id }) => id ?? [])
  const delivery = draw.of([...model.purged, ...known]) ?? DeliveryId.make(maxId)
  const state = optional(draw.choice(undefined, "pending", undefined, ...State.literals))
  const after = optional(draw.choice(undefined, delivery))
  const position = draw.choice(0, draw.of(model.readTo.filter(([application]) => application === id))?.[1] ?? 0)
  const subscriptions = [...model.subscriptions.values(), ...model.removed].map(({ id }) => id)
  const registration = draw.of(model.registrations.keys())
  const all: Record<Part, ReadonlyArray<() => Call | undefined>> = {
    applications: [
      () => finds.application(by, id),
      () => finds.signingSecrets(by, id),
      () => finds.applications(by, user, { after: optional(draw.choice(undefined, id)), limit }),
      () => finds.allApplications(by, { after: optional(draw.choice(undefined, id)), limit })
    ],
    subscriptions: [
      () => finds.subscription(by, id),
      () => finds.subscriptions(by, { after: optional(draw.choice(undefined, draw.of(subscriptions))), limit })
    ],
    outbox: [
      () => finds.deliveries(by, { applicationId: Option.some(id), state, after, limit }),
      () => finds.delivery(by, delivery),
      () => finds.allDeliveries(by, { state, after, limit })
    ],
    grants: [
      () => finds.grant(by, id, user),
      () => finds.grantsOfUser(by, user),
      () => finds.grantsOfApplication(by, id, limit)
    ],
    registrations: [() => registration && finds.registration(by, registration)],
    queue: [
      () => finds.log(by, { applicationId: id, after: position, limit }),
      () =>
        found(
          tagOf(by.deliveries.log({ applicationId: id, after: maxId, limit })),
          () => "@startlist/core/UnknownPosition"
        )
    ]
  }
  const some = parts.flatMap((part) => all[part])
  return some[draw.number(some.length)]?.()
}
