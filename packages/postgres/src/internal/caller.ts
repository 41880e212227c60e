/** The fiber that calls a store, and the transaction in which it is. Only this module uses internals of fibers. */
import { TransactionConnection } from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/** A fiber. */
export type Caller = Fiber.RuntimeFiber<unknown, unknown>

/** Runs what depends on the caller. On the hot path, this costs less than an effect that asks for it. */
export const withCaller = <A, E>(use: (caller: Caller) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiberRuntime(use)

/** The connection of the caller's open transaction (`SqlClient.withTransaction`), if there is one, and its depth. */
export const transactionOf = (
  { currentContext }: Caller
): Option.Option<Context.Tag.Service<typeof TransactionConnection>> =>
  Context.getOption(currentContext, TransactionConnection)

/** Whether the caller is in a transaction, and must use its connection. */
export const isJoined = (caller: Caller): boolean => Option.isSome(transactionOf(caller))

/** Whether the caller has ended, so that nobody waits. A finalizer for each call would cost more than the rest of it. */
export const isAbandoned = (caller: Caller): boolean => caller.unsafePoll() !== null

/** Effects to run after the commit of the open transaction. */
export class AfterCommit extends Context.Tag("@startlist/postgres/AfterCommit")<
  AfterCommit,
  Array<Effect.Effect<void>>
>() {}

/** The effects to run after the caller's transaction, if it is in one of ours. */
export const afterCommitOf = ({ currentContext }: Caller): Option.Option<Array<Effect.Effect<void>>> =>
  Context.getOption(currentContext, AfterCommit)
