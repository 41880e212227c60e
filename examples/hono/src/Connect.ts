/** Startlist for this server's users. */
import { Startlist } from "@startlist/embed"
import * as Users from "./Users.ts"

/** Starts Startlist for a server with this public origin. It is mounted at `/connect`. */
export const start = (origin: string, options: Partial<Startlist.Options> = {}): Promise<Startlist.Startlist> =>
  Startlist.make({
    url: `${origin}/connect`,
    // In memory. To keep what is granted, add the options `database` and `key`.
    findUser: Users.find,
    authentication: {
      identify: ({ headers }) => Users.signedIn(typeof headers["cookie"] === "string" ? headers["cookie"] : undefined),
      signInUrl: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
      signOutUrl: "/sign-out"
    },
    ...options
  })
