/** `startlist fake` and `startlist listen`: for developers of applications, on their own machine. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { common, optional, optionalNumber, text } from "../Asking.ts"

/** Runs a service in memory that obeys. */
export const fake = Command.make(
  "fake",
  {
    port: optionalNumber("port", "where to listen; default: a port that is free"),
    redirectUris: Options.text("redirect-uri").pipe(
      Options.withDescription("a redirect URI of the application besides those on localhost; may be repeated"),
      Options.repeated
    ),
    json: common.json
  },
  (options) => Effect.flatMap(Effect.promise(() => import("../FakeService.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("runs a service in memory for tests: no data, any time, faults on demand"))

/** Follows the log of events. */
export const listen = Command.make(
  "listen",
  {
    forwardTo: text("forward-to", "where to post the events, such as http://localhost:3000/callback"),
    url: common.url,
    token: Options.redacted("token").pipe(
      Options.withDescription("an access token of a platform user; default: STARTLIST_ACCESS_TOKEN, or standard input"),
      Options.optional
    ),
    secret: optional("secret", "the signing secret (whsec_…) to sign with; default: a new one, which is printed"),
    after: optional("after", "continue behind this cursor"),
    fromStart: Options.boolean("from-start").pipe(
      Options.withDescription("post every stored event first; default: only what happens from now on")
    )
  },
  (options) => Effect.flatMap(Effect.promise(() => import("../Listening.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("posts an application's events to a receiver on this machine"))
