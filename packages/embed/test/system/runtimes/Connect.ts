/** Startlist for a server without Node. */
import type * as WebStartlist from "@startlist/embed/WebStartlist"
import * as Users from "./Users.ts"

/** Startlist of a server with this public origin, mounted at `/connect`. */
export const options = (origin: string): WebStartlist.Options => ({
  url: `${origin}/connect`,
  findUser: Users.find,
  authentication: {
    identify: ({ headers }) => Users.signedIn(typeof headers["cookie"] === "string" ? headers["cookie"] : undefined),
    signInUrl: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
    signOutUrl: "/sign-out"
  }
})
