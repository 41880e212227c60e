/** The steps of a plan: requests of users, applications and operators, and incidents. */
import * as Retention from "@startlist/core/Retention"
import type { Services, Stores } from "@startlist/core/Services"
import type { TestUsers } from "@startlist/testing/TestUsers"
import type { Role } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import { perform } from "../perform.ts"
import { createApplication, createUser } from "../performEvents.ts"
import { observed } from "../performed.ts"
import { choose, type ProgramFixture } from "../programFixture.ts"
import type { SimulationContext } from "./context.ts"
import type { Node } from "./Node.ts"
import type { Oracle } from "./Oracle.ts"
import type { Size, Step } from "./plan.ts"
import type { Receivers } from "./Receivers.ts"
import type { makeAsk } from "./requests.ts"

const roles: ReadonlyArray<Role> = ["athlete", "organizer", "athlete", "club"]

const numbers = (length: number) => Array.from({ length }, (_, index) => index)

/** Makes applications of one owner, users of every role, and registrations before the first step. */
export const populate = (fixture: ProgramFixture, oracle: Oracle, size: Size) =>
  Effect.gen(function*() {
    yield* createUser(fixture, "platform")
    for (const index of numbers(size.users)) yield* createUser(fixture, roles[index % roles.length] ?? "athlete")
    for (const _ of numbers(size.applications)) yield* createApplication(fixture)
    for (const index of numbers(size.registrations)) {
      const created = perform(fixture, { _tag: "CreateRegistration", athlete: index, organizer: index })
      for (const prepared of created) oracle.assume((yield* observed(prepared)).entry)
    }
  })

interface Actors {
  readonly context: SimulationContext
  readonly nodes: ReadonlyArray<Node>
  readonly receivers: Receivers
  readonly ask: ReturnType<typeof makeAsk>
}

/** Performs one step. Ends when the answers have arrived or the callers have given up. */
export const act = (
  { ask, context, nodes, receivers }: Actors,
  { operation, ...step }: Step
): Effect.Effect<unknown, unknown, Services | Stores | TestUsers> => {
  const { fixture } = context
  const node = nodes[step.node]
  const receiverOf = (application: number) => `${choose(fixture.applications, application)?.value.callbackUrl}/right`
  switch (operation._tag) {
    case "CreateUser":
      return createUser(fixture, operation.role)
    case "CreateApplication":
      return createApplication(fixture)
    case "Purge":
      return Retention.purge
    case "Behave":
      return Effect.sync(() => receivers.setBehaviour(receiverOf(operation.application), operation.behaviour))
    case "NetworkFault": {
      const { application, count, network } = operation
      return Effect.sync(() => receivers.addNetworkFault(receiverOf(application), network, count))
    }
    case "Crash":
      return Effect.sync(() => {
        if (node?.life !== undefined) node.crash = { ...operation }
      })
    case "StoreFault":
      return Effect.sync(() =>
        void node?.faults.push({ operation: operation.operation, fault: operation.fault, left: operation.count })
      )
    default:
      fixture.deliveries = context.deliveries.all()
      return ask({ ...step, operation }, perform(fixture, operation))
  }
}
