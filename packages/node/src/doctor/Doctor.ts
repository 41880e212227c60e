/**
 * `startlist doctor`: checks everything that a start and a delivery need, and prints one finding per line with advice.
 * It changes nothing: it creates no keys, no data folder and no tables.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Answer, Callbacks, type UrlProblem } from "@startlist/core/Callbacks"
import { Policy } from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import { validate, type ValidationFailed } from "@startlist/core/Subscription"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { whyNotListening } from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Folder from "@startlist/postgres/Folder"
import { CommandFailed, print, printLines } from "../commands/Terminal.ts"
import * as Keys from "../data/Keys.ts"
import { type Configuration, origin } from "../settings/Configuration.ts"
import { checkDatabase } from "./DatabaseCheck.ts"
import { bad, checkSettings, type Finding, good, warning } from "./Finding.ts"

/** Whether the service of these settings answers a probe with 200. */
const answers = ({ host, port }: Configuration, probe: "/healthz" | "/readyz") =>
  Effect.tryPromise((signal) => fetch(`${origin(host, port)}${probe}`, { signal }).then(({ ok }) => ok)).pipe(
    Effect.timeout("3 seconds"),
    Effect.orElseSucceed(() => false)
  )

/** Whether this user can listen on the address, or the running service does. */
const checkAddress = (configuration: Configuration) => {
  const { host, port } = configuration
  const address = origin(host, port)
  const refusal = Effect.async<Option.Option<NodeJS.ErrnoException>>((resume) => {
    const server = createServer()
    server.once("error", (error) => resume(Effect.succeedSome(error)))
    server.listen(port, host, () => server.close(() => resume(Effect.succeedNone)))
  })
  return Effect.gen(function*() {
    const refused = yield* refusal
    if (Option.isNone(refused)) return good("configuration", `listens on ${address}`)
    if (yield* answers(configuration, "/healthz")) return good("configuration", `the service listens on ${address}`)
    if (refused.value.code === "EADDRINUSE") {
      return warning("configuration", `another program listens on ${address}`, "stop it, or choose another PORT")
    }
    const { about, message } = whyNotListening(refused.value, host, port)
    const seen = `${about.toUpperCase()}: ${message}`
    return about === "host"
      ? bad("configuration", seen, "set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0")
      : warning("configuration", seen, "if the service runs as another user, run doctor as that user")
  })
}

/** The folder, or its nearest existing parent. */
const nearest = (path: string): string => existsSync(path) || path === dirname(path) ? path : nearest(dirname(path))

/** Why this user cannot store a database in this folder, or create the folder. */
const whyNotIn = (dataDir: string): Option.Option<string> => {
  const folder = nearest(resolve(dataDir))
  try {
    if (!statSync(folder).isDirectory()) return Option.some(`${folder} is not a folder`)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return existsSync(dataDir) ? Folder.whyNotPrivate(resolve(dataDir), statSync(dataDir)) : Option.none()
  } catch {
    return Option.some(`this user may not read and write in ${folder}`)
  }
}

/** Checks keys, folder and database. Creates neither the keys of a first start nor a replacement for a lost key. */
const checkInstallation = (configuration: Configuration) => {
  const { dataDir, databaseUrl, masterKeys, operatorToken } = configuration
  const whyNot = Option.isSome(databaseUrl) ? Option.none() : whyNotIn(dataDir)
  if (Option.isSome(whyNot)) {
    const advice = "run doctor as the user of the service, correct the mode of the folder, or choose another DATA_DIR"
    return Effect.succeed([bad("database", `DATA_DIR: ${whyNot.value}`, advice)])
  }
  const isMade = Option.isSome(databaseUrl) || existsSync(join(dataDir, "pgdata"))
  const hasKey = Option.isSome(masterKeys) || existsSync(Keys.masterKeyFile(dataDir))
  const hasToken = Option.isSome(operatorToken) || existsSync(Keys.operatorTokenFile(dataDir))
  if (!isMade) return Effect.succeed([good("database", `does not exist yet: the first start creates it in ${dataDir}`)])
  if (hasKey && hasToken) {
    return Keys.load(configuration).pipe(
      Effect.flatMap((keys) => checkDatabase(configuration, keys, answers(configuration, "/readyz"))),
      Effect.catchTag(
        "@startlist/node/InvalidConfiguration",
        ({ message }) =>
          Effect.succeed([bad("keys", message, "restore the file from a backup, or set MASTER_KEY and OPERATOR_TOKEN")])
      )
    )
  }
  const lost = hasKey ? Keys.operatorTokenFile(dataDir) : Keys.masterKeyFile(dataDir)
  const advice = hasKey
    ? "the next start makes a new one; or set OPERATOR_TOKEN"
    : "restore it from a backup or set MASTER_KEY before the next start, which would make a different key"
  return Effect.succeed([
    hasKey ? warning("keys", `${lost} is missing`, advice) : bad("keys", `${lost} is missing`, advice)
  ])
}

/** The requirement on a callback. */
const contract = "it must answer within 2 s with 200, application/json and {\"hub.challenge\": the challenge}"

const refusals: Readonly<Record<ValidationFailed["reason"], string>> = {
  unreachable: "it cannot be reached",
  forbidden_address: "its address is not allowed",
  timeout: "too late",
  wrong_status: "the status is not 200",
  wrong_content_type: "the content type is not application/json",
  wrong_body: "the body is not the challenge"
}

const urlProblems: Readonly<Record<UrlProblem, readonly [problem: string, advice: string]>> = {
  invalid: ["must be https, or http within CALLBACK_ALLOW", "use an https URL without user and fragment"],
  international_name: ["has an international name", "write it in its ASCII form (xn--…)"],
  trailing_dot: ["has a dot at the end of its host", "remove it"],
  characters: ["has a character that a URL cannot contain", "encode it with a percent sign"]
}

const describeAnswer = (answer: Answer, challenge: string): Finding =>
  Answer.$match(answer, {
    Answered: ({ afterMs, status }) => {
      const seen = `answered with ${status} after ${Math.round(afterMs)} ms`
      return Either.match(validate(answer, challenge), {
        onLeft: ({ reason }) => warning("callback", `${seen}: ${refusals[reason]}`, contract),
        onRight: () => good("callback", `${seen}, with the challenge`)
      })
    },
    TimedOut: ({ detail }) => bad("callback", `did not answer in time${detail === "" ? "" : `: ${detail}`}`, contract),
    Unreachable: ({ detail }) =>
      bad(
        "callback",
        `cannot be reached: ${detail}`,
        "check its host name, port and certificate, and whether this network allows outgoing requests"
      ),
    Forbidden: ({ detail }) =>
      bad(
        "callback",
        `is not allowed, see CALLBACK_ALLOW: ${detail}`,
        "if it is meant to be on your network, add its address range to CALLBACK_ALLOW"
      )
  })

const layerCallbacks = ({ callbackAllow, policy }: Configuration) =>
  Layer.mergeAll(
    Dispatcher.layerWith({ allow: callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr))) }),
    NodeSecrets.layerDrawn,
    Layer.succeed(Policy, policy)
  )

/**
 * Checks a callback as the service would: through the address guard, with the validation of a subscription and a random
 * challenge. Nothing is stored.
 */
const checkCallback = (configuration: Configuration, callbackUrl: string): Effect.Effect<Finding> =>
  Effect.gen(function*() {
    const callbacks = yield* Callbacks
    const { callbackTimeout: timeout } = yield* Policy
    if (callbackUrl.length > 255) return bad("callback", "is longer than 255 characters", "use a shorter URL")
    const problem = Option.getOrUndefined(callbacks.problem(callbackUrl))
    if (problem !== undefined) return bad("callback", ...urlProblems[problem])
    const challenge = Redacted.value(yield* (yield* Secrets).make("challenge"))
    const verifyToken = Redacted.make("startlist-doctor")
    return describeAnswer(yield* callbacks.validate({ callbackUrl, challenge, verifyToken, timeout }), challenge)
  }).pipe(Effect.provide(layerCallbacks(configuration)))

/** Addresses at which callbacks are allowed. */
const reach = ({ callbackAllow }: Configuration): string =>
  ["https on the public internet", ...callbackAllow].join(", ")

/** Checks settings, keys, database, tables, clock and stored secrets, and a callback if there is one. */
export const inspect = (
  configuration: Configuration,
  callback: Option.Option<string>
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function*() {
    return [
      yield* checkAddress(configuration),
      ...checkSettings(configuration),
      ...(yield* checkInstallation(configuration)),
      good("callbacks", `allowed addresses: ${reach(configuration)}`),
      ...(Option.isSome(callback) ? [yield* checkCallback(configuration, callback.value)] : [])
    ]
  })

const marks = { good: "ok  ", warning: "WARN", bad: "FAIL" } as const

const linesOf = ({ advice, level, seen, what }: Finding): ReadonlyArray<string> => [
  `${marks[level]}  ${what}: ${seen}`,
  ...(advice === "" ? [] : [`      ${advice}`])
]

/** Prints the findings. Fails with one line if any of them is bad; warnings alone are not a failure. */
export const report = (findings: ReadonlyArray<Finding>, json: boolean) =>
  Effect.gen(function*() {
    yield* json ? print({ findings }, json) : printLines(...findings.flatMap(linesOf))
    const [first, ...others] = findings.filter(({ level }) => level === "bad")
    if (first === undefined) return
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`
    yield* new CommandFailed({ message: `${first.what}: ${first.seen}${more}` })
  })
