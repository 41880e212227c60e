/** Connections to callbacks and the exchanges over them. Loads the HTTP client, TLS and DNS. */
import type { Block } from "../AddressGuard.ts"
import * as Connections from "../Connections.ts"
import * as Dialler from "../Dialler.ts"
import * as Exchange from "../Exchange.ts"
import * as Resolver from "../Resolver.ts"

export interface Options {
  readonly allow: ReadonlyArray<Block>
  readonly ca: ReadonlyArray<string>
  readonly resolve: Resolver.Resolve | undefined
}

export const open = ({ allow, ca, resolve = Resolver.make() }: Options, report: (bug: unknown) => void) => {
  const connections = Connections.make(Dialler.make({ allow, ca, resolve }))
  return { close: connections.close, start: Exchange.make(connections, report) }
}
