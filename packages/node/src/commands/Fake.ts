/** `startlist fake`: starts a fake and prints what an application needs to use it. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Fake } from "@startlist/fake"
import { CommandFailed, printLines } from "./Terminal.ts"

const lines = ({ application: { clientId, clientSecret, signingSecret }, url, users }: Fake.Fake) => [
  `A fake Startlist listens on ${url}. It stores everything in memory.`,
  "",
  `  client_id       ${clientId}`,
  `  client_secret   ${clientSecret}`,
  `  signing_secret  ${signingSecret}`,
  "",
  ...users().map(({ email, id, role }) => `  user ${id}  ${email} (${role})`),
  "",
  `Control it at ${url}/fake. Stop it with Ctrl-C.`
]

const json = ({ application, url, users }: Fake.Fake): string => JSON.stringify({ url, application, users: users() })

/** Runs a fake until it is interrupted. Fails if it cannot start, such as on a taken port. */
export const run = ({ allow, json: isJson, port, redirectUris }: {
  readonly port: Option.Option<number>
  readonly redirectUris: ReadonlyArray<string>
  readonly allow: ReadonlyArray<string>
  readonly json: boolean
}): Effect.Effect<never, CommandFailed> =>
  Effect.acquireUseRelease(
    Effect.tryPromise({
      try: () => Fake.start({ allow, port: Option.getOrElse(port, () => 0), redirectUris }),
      catch: (error) => new CommandFailed({ message: error instanceof Error ? error.message : String(error) })
    }),
    (fake) => Effect.zipRight(printLines(...(isJson ? [json(fake)] : lines(fake))), Effect.never),
    (fake) => Effect.promise(fake.stop)
  )

/** Without options. */
export const standard = run({ port: Option.none(), redirectUris: [], allow: [], json: false })
