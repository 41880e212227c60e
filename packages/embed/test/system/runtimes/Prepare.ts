/** Calls of `Startlist` from the test process to that of a server. */
import type { Calls } from "@startlist/embed/WebStartlist"
import type { Embedding } from "@startlist/test-support/EmbeddedServer"

interface Call<Name extends string, Method extends (...args: Array<never>) => unknown> {
  readonly call: Name
  readonly args: Parameters<Method>
}

export type Prepare =
  | Call<"addUser", Embedding["addUser"]>
  | Call<"create application", Calls["applications"]["create"]>
  | Call<"create registration", Calls["registrations"]["create"]>
  | Call<"change registration", Calls["registrations"]["change"]>
  | Call<"list deliveries", Calls["deliveries"]["list"]>
