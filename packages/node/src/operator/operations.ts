/** All operations of the operator API. */
import type * as Schema from "effect/Schema"
import { applications } from "./applications.ts"
import { audit } from "./audit.ts"
import { deliveries } from "./deliveries.ts"
import { installation } from "./installation.ts"
import type { Fields, Group, Operation } from "./Operation.ts"
import { registrations } from "./registrations.ts"
import { subscriptions } from "./subscriptions.ts"
import { users } from "./users.ts"

const all = { applications, users, registrations, subscriptions, deliveries, audit, installation }

/** The groups by their names, in the order of the help. */
export const groups: Readonly<Record<string, Group>> = all

/** The type of `groups`. */
export type Groups = typeof all

/** The operations of a group by their names. */
export const operationsOf = ({ members }: Group): ReadonlyArray<readonly [name: string, operation: Operation]> =>
  Object.entries(members).flatMap(([name, member]) => member._tag === "Operation" ? [[name, member] as const] : [])

/** All operations. */
export const operations = Object.values(groups).flatMap((group) =>
  // Safe: `Services` are those of all operations.
  operationsOf(group).map(([, operation]) => operation as Operation<Fields, Schema.Schema.AnyNoContext, Services>)
)

/** Paths of the operations, in the form of the router. */
export const paths: ReadonlyArray<string> = [...new Set(operations.map(({ path }) => path))]

/** Paths of the operations that may take longer than other requests. */
export const untimedPaths: ReadonlySet<string> = new Set(
  operations.filter(({ isUntimed }) => isUntimed).map(({ path }) => path)
)

type ServicesOf<Members> = {
  [Name in keyof Members]: Members[Name] extends Operation<infer _F, infer _O, infer R> ? R : never
}[keyof Members]

/** The services that the operations need. */
export type Services = { [Name in keyof Groups]: ServicesOf<Groups[Name]["members"]> }[keyof Groups]
