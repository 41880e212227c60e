/** `startlist fake` and `startlist listen`: for developers of applications, on their own machines. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { json, optional, optionalNumber, service, text } from "./commandOptions.ts"

/** Runs a fake service in memory. */
export const fake = Command.make(
  "fake",
  {
    port: optionalNumber("port", "port to listen on (default: any free port)"),
    redirectUris: Options.text("redirect-uri").pipe(
      Options.withDescription(
        "further redirect URI of the application, besides those on localhost; you can repeat this option"
      ),
      Options.repeated
    ),
    allow: Options.text("allow").pipe(
      Options.withDescription(
        "network of receivers that may be called, besides this machine, such as 172.16.0.0/12; you can repeat this option"
      ),
      Options.repeated
    ),
    json
  },
  (options) => Effect.flatMap(Effect.promise(() => import("./Fake.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("runs a service in memory for tests, with its own clock and faults on demand"))

/** Follows the event log. */
export const listen = Command.make(
  "listen",
  {
    forwardTo: text("forward-to", "URL of the receiver, such as http://localhost:3000/callback"),
    url: service.url,
    token: Options.redacted("token").pipe(
      Options.withDescription("access token of a platform user (default: STARTLIST_ACCESS_TOKEN, or standard input)"),
      Options.optional
    ),
    secret: optional("secret", "signing secret (whsec_…) to sign with (default: a new one, which is printed)"),
    after: optional("after", "start after this cursor"),
    fromStart: Options.boolean("from-start").pipe(
      Options.withDescription("post all stored events first (default: only new events)")
    )
  },
  (options) => Effect.flatMap(Effect.promise(() => import("./Listen.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("posts an application's events to a receiver on this machine"))
