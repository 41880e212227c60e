/** Commands that `CommandLine.test.ts` does not run in their own processes. */
import { describe, expect, it, layer, vi } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { printableJson, render, showProgress } from "../src/commands/Terminal.ts"
import * as CommandLine from "../src/commands/CommandLine.ts"
import { command, commandJson, runHere } from "@startlist/test-support/Commands"
import { obtainTokens, redirectUri, subscribe } from "@startlist/test-support/Consent"
import { changeRegistration, createApplication, createRegistration, createUser } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"

layer(InProcessService.layer({ DELIVERY_DELAYS: "1ms" }))("commands", (it) => {
  it.effect(
    "an application is shown and updated; only the given settings change",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const application = await commandJson(
        service,
        "application",
        "create",
        "--name",
        "One",
        "--owner-email",
        owner.email,
        "--redirect-uri",
        redirectUri,
        "--require-pkce",
        "true"
      )
      const { client_secret, signing_secret, ...record } = application
      expect([client_secret, signing_secret]).toEqual([
        expect.stringMatching(/^sl_cs_/),
        expect.stringMatching(/^whsec_/)
      ])
      expect(record).toMatchObject({ name: "One", require_pkce: true, redirect_uris: [redirectUri] })
      const id = String(application.client_id)
      expect(await commandJson(service, "application", "show", id)).toEqual(record)
      expect(await commandJson(service, "application", "update", id, "--name", "Two")).toEqual({
        ...record,
        name: "Two"
      })
      const uris = ["--redirect-uri", "https://a.test/", "--redirect-uri", "https://b.test/"]
      expect(await commandJson(service, "application", "update", id, ...uris, "--require-pkce", "false")).toEqual({
        ...record,
        name: "Two",
        redirect_uris: ["https://a.test/", "https://b.test/"],
        require_pkce: false
      })
      const links = ["--website", "https://a.test", "--privacy-policy", "https://a.test/privacy"]
      expect(await commandJson(service, "application", "update", id, ...links)).toMatchObject({
        website: "https://a.test",
        privacy_policy: "https://a.test/privacy",
        logo: null
      })
      expect(await commandJson(service, "application", "update", id, "--website", "")).toMatchObject({
        website: null,
        privacy_policy: "https://a.test/privacy"
      })
      expect((await command(service, "application", "update", id, "--logo", "http://a.test/logo.png")).stderr)
        .toContain("logo must be a valid https URL of at most 255 characters")
      const people = await command(service, "application", "show", id)
      expect(people.stdout).toMatch(/^client_id +\d+\nname +Two\n/)
      const signing = await commandJson(service, "application", "signing-secret", id)
      expect(signing).toEqual({ signing_secrets: [{ value: signing_secret, number: 1 }] })
      const rotated = await commandJson(service, "application", "rotate-signing-secret", id)
      expect(rotated.signing_secrets.map(({ value }: { value: string }) => value)).toContain(signing_secret)
      expect(rotated.signing_secrets).toHaveLength(2)
    })
  )

  it.effect(
    "a user is shown and found; a revocation on their behalf ends the access",
    on(async (service) => {
      const athlete = await createUser(service, "athlete")
      const { password: _, ...record } = athlete
      expect(await commandJson(service, "user", "show", String(athlete.id))).toEqual(record)
      expect(await commandJson(service, "user", "find", "--email", athlete.email.toUpperCase())).toEqual({
        users: [record]
      })
      const client = await createApplication(service, await createUser(service, "platform"))
      await obtainTokens(service, client, athlete)
      const { grants: [grant, ...others] } = await commandJson(service, "user", "applications", String(athlete.id))
      expect([grant, others]).toEqual([{
        client_id: client.client_id,
        application: "Race Day",
        scope: expect.stringContaining("profile:read"),
        granted_at: expect.stringMatching(/Z$/)
      }, []])
      const revoke = (...which: ReadonlyArray<string>) =>
        command(service, "user", "revoke", String(athlete.id), ...which)
      expect(await revoke("--application", String(client.client_id))).toEqual({ code: 0, stdout: "done\n", stderr: "" })
      const other = await createApplication(service, await createUser(service, "platform"))
      for (const one of [client, other]) await obtainTokens(service, one, athlete)
      for (const both of [[], ["--all", "--application", String(client.client_id)]]) {
        expect(await revoke(...both)).toMatchObject({ code: 1, stderr: "client_id must be given, or else all" })
      }
      expect(await revoke("--all")).toMatchObject({ code: 0 })
      expect((await command(service, "user", "applications", String(athlete.id))).stdout).toBe("none\n")
      const { entries } = await commandJson(
        service,
        "audit",
        "list",
        "--user",
        String(athlete.id),
        "--action",
        "revocation"
      )
      expect(entries.map(({ subject }: { subject: { id: number } }) => subject.id).slice(0, 2).sort()).toEqual(
        [client.client_id, other.client_id].sort()
      )
      expect(await revoke("--all")).toMatchObject({
        code: 1,
        stderr: `user ${athlete.id} has not authorized any application`
      })
      const stranger = await createUser(service, "athlete")
      const none = await command(service, "user", "revoke", String(stranger.id), "--application", "1")
      expect([none.code, none.stderr]).toEqual([1, `user ${stranger.id} has not authorized application 1`])
    })
  )

  it.effect(
    "the audit is listed, page by page or whole",
    on(async (service) => {
      const table = await command(service, "audit", "list", "--limit", "2")
      expect(table.stdout.split("\n")[0]).toMatch(/^ID +AT +ACTION +ACTOR +SUBJECT +ADDRESS +OUTCOME +DETAIL$/)
      expect(table.stdout).toContain("operator_call  operator")
      expect(table.stdout).toMatch(/\(more: --after \d+\)\n$/)
      const all = await commandJson(service, "audit", "list", "--all", "--limit", "3")
      expect(all.entries.length).toBeGreaterThan(3)
      expect(new Set(all.entries.map(({ id }: { id: number }) => id)).size).toBe(all.entries.length)
      const next = await commandJson(service, "audit", "list", "--limit", "1", "--after", String(all.entries[0].id))
      expect(next.entries).toEqual([all.entries[1]])
    })
  )

  it.scoped(
    "all exhausted deliveries are redelivered in their order, each event once",
    () =>
      Effect.gen(function*() {
        const service = yield* InProcessService.InProcessService
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          const platform = await createUser(service, "platform")
          const athlete = await createUser(service, "athlete")
          const client = await createApplication(service, platform)
          const { access_token } = await obtainTokens(service, client, platform)
          await obtainTokens(service, client, athlete)
          expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
          receiver.answerWith(500)
          const registration = await createRegistration(service, { athlete_id: athlete.id })
          for (const registration_status of ["a", "b", "c"]) {
            await changeRegistration(service, registration, { registration_status })
          }
          const application = ["--application", String(client.client_id)]
          const exhausted = async () =>
            (await commandJson(service, "delivery", "list", "--state", "exhausted", "--all", ...application)).deliveries
          const waitFor = async (count: number) => {
            for (let seen = -1; seen < count; seen = (await exhausted()).length);
            return await exhausted()
          }
          const [last, , first] = await waitFor(3)
          const shown = await command(service, "delivery", "show", String(last.id))
          expect(shown.stdout).toMatch(/\nstate +exhausted\n/)
          expect(shown.stdout).toMatch(/\nattempts:\nAT +OUTCOME +STATUS +DURATION_MS/)
          expect(await commandJson(service, "delivery", "redeliver", String(last.id))).toMatchObject({
            webhook_id: last.webhook_id,
            state: "pending"
          })
          await waitFor(4)
          // The first event failed last. It is still the first in order.
          await commandJson(service, "delivery", "redeliver", String(first.id))
          await waitFor(5)
          const later = ["--state", "exhausted", "--since", "2100-01-01T00:00:00Z", ...application]
          expect(await commandJson(service, "delivery", "redeliver", ...later)).toEqual({ redelivered: 0, skipped: 0 })

          const before = receiver.received.length
          receiver.answerWith(200)
          const told = await command(service, "delivery", "redeliver", "--state", "exhausted", ...application)
          // Five are exhausted: two of them were repeated.
          expect(told).toEqual({ code: 0, stdout: "redelivered  3\nskipped      2\n", stderr: "" })
          const posts = () => receiver.received.slice(before)
          await receiver.until(() => posts().length >= 3)
          expect(posts().map(({ body }) => JSON.parse(body).updates.registration_status)).toEqual(["a", "b", "c"])

          const again = () => commandJson(service, "delivery", "redeliver", "--state", "exhausted", ...application)
          expect(await again()).toEqual({ redelivered: 0, skipped: 5 })
          const list = await exhausted()
          expect(list.map(({ redelivery }: { redelivery?: { state: string } }) => redelivery?.state)).toEqual(
            Array.from({ length: 5 }, () => "delivered")
          )
          const found = async (...filter: ReadonlyArray<string>) =>
            (await commandJson(service, "delivery", "list", "--all", ...filter)).deliveries
              .map(({ id }: { id: number }) => id)
          const everything = await found(...application)
          const [past, future] = ["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"]
          const object = ["--object", `registration:${registration}`] as const
          for (const filter of [object, ["--user", String(athlete.id)], ["--since", past], ["--until", future]]) {
            expect([filter, await found(...application, ...filter)]).toEqual([filter, everything])
          }
          expect(await found(...object, "--user", String(athlete.id))).toEqual(everything)
          const sent: ReadonlyArray<{ readonly id: number; readonly webhook_id: string }> =
            (await commandJson(service, "delivery", "list", "--all", ...application)).deliveries
          expect(await found("--webhook-id", last.webhook_id)).toEqual(
            sent.filter(({ webhook_id }) => webhook_id === last.webhook_id).map(({ id }) => id)
          )
          const others = [["--object", "registration:999999"], ["--user", String(platform.id)]]
          for (const filter of [...others, ["--since", future], ["--until", past]]) {
            expect([filter, await found(...application, ...filter)]).toEqual([filter, []])
          }
          const headers = { authorization: `Bearer ${access_token}` }
          const log = await fetch(`${service.url}/api/v1/webhook_subscription/events`, { headers })
          expect((await log.json()).events.map(({ state }: { state: string }) => state)).toEqual([
            "delivered",
            "delivered",
            "delivered"
          ])
        })
      })
  )

  it.effect(
    "a command that fails prints one line",
    on(async (service) => {
      const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, line: RegExp]> = [
        [["delivery", "redeliver"], /give either the id of a delivery, or --state/],
        [["delivery", "redeliver", "1", "--state", "exhausted"], /give either the id of a delivery, or --state/],
        [["delivery", "redeliver", "--state", "exhausted", "--since", "yesterday"], /date/i],
        [["delivery", "show", "999999"], /there is no delivery 999999/],
        [["application", "show", "999999"], /there is no application 999999/],
        [["application", "update", "999999", "--name", "x"], /there is no application 999999/],
        [["user", "show", "999999"], /there is no user 999999/],
        [["registration", "show", "999999"], /there is no registration 999999/],
        [["user", "show", "x"], /^<id> must be the id of a user, a positive integer, not "x"$/],
        [["user", "create", "--role", "atlete", "--email", "a@b.test"], /^--role must be platform, .*, not "atlete"$/],
        [
          ["delivery", "list", "--object", "race:1"],
          /^--object must be an object such as registration:12, .*, not "race:1"$/
        ],
        [
          ["delivery", "list", "--webhook-id", "12"],
          /^--webhook-id must be a webhook-id, such as evt_2n5xVb, not "12"$/
        ],
        [["delivery", "list", "--state=dead"], /^--state must be pending, .*, not "dead"$/],
        [["delivery", "list", "--application", "0"], /^--application must be a client_id, .*, not "0"$/],
        [
          ["user", "create", "--role", "club", "--email", "a@b.test", "--password", "secret"],
          /^--password must be [^"]*$/
        ],
        [["audit", "list", "--limit", "501"], /^--limit must be an integer from 1 to 500, not "501"$/]
      ]
      for (const [args, line] of cases) {
        const { code, stderr } = await command(service, ...args)
        expect([args, code]).toEqual([args, 1])
        expect(stderr).toMatch(line)
      }
    })
  )
})

describe("a command for the database in DATA_DIR", () => {
  for (const args of [["reseal"], ["move", "--to", "postgres://nobody@127.0.0.1:1/nothing"]]) {
    it.scoped(`${args[0]} refuses a folder without a database, and creates none`, () =>
      Effect.gen(function*() {
        const parent = yield* temporaryFolder
        const DATA_DIR = join(parent, "wrong")
        yield* Effect.acquireRelease(
          // Vitest sets BASE_URL.
          Effect.sync(() => vi.stubEnv("BASE_URL", "").stubEnv("DATA_DIR", DATA_DIR)),
          () => Effect.sync(() => vi.unstubAllEnvs())
        )
        expect(yield* Effect.promise(() => runHere(args))).toEqual({
          code: 1,
          stdout: "",
          stderr: `DATA_DIR: there is no database in the folder ${DATA_DIR}`
        })
        expect(readdirSync(parent)).toEqual([])
      }))
  }
})

/** Every command by its names. */
const namesOf = (
  { children }: CommandLine.Tree,
  names: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> => [
  names,
  ...children.flatMap((child) => namesOf(child, [...names, child.name]))
]

describe("help", () => {
  const all = namesOf(CommandLine.tree)

  it("fits 80 columns for every command, and names the whole command in the usage line", async () => {
    expect(all.length).toBeGreaterThan(25)
    for (const names of all) {
      const { code, stderr, stdout } = await runHere(["help", ...names])
      expect([names, code, stderr]).toEqual([names, 0, ""])
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([])
      expect(stdout.startsWith(`USAGE\n  ${["startlist", ...names].join(" ")}`), stdout).toBe(true)
      expect(stdout).toMatch(/\nDESCRIPTION\n {2}\w/)
      for (const asked of [[...names, "--help"], [...names, "-h"]]) expect((await runHere(asked)).stdout).toBe(stdout)
    }
  })

  it("describes every option and argument", async () => {
    for (const names of all) {
      const lines = (await runHere(["help", ...names])).stdout.split("\n")
      const undescribed = lines.filter((line, index) => {
        const isTerm = /^ {2}(?:--|<)/.test(line) && index > lines.indexOf("DESCRIPTION")
        return isTerm && !/^ {6}\w/.test(lines[index + 1] ?? "")
      })
      expect([names, undescribed]).toEqual([names, []])
    }
  })

  it("is printed for a group of commands without a command", async () => {
    expect(await runHere(["user"])).toEqual(await runHere(["help", "user"]))
    expect(await runHere([])).toEqual(await runHere(["help"]))
  })

  it("a command that does not exist is refused with the list of commands", async () => {
    const commands = "subscription list, subscription pause, subscription resume, subscription end"
    const line = `there is no command subscription show. The commands are ${commands}: see startlist help subscription`
    for (const args of [["show"], ["show", "--help"]].map((more) => ["subscription", ...more])) {
      expect(await runHere(args)).toEqual({ code: 1, stdout: "", stderr: line })
    }
    expect((await runHere(["bogus"])).stderr).toMatch(
      /^there is no command bogus\. The commands are serve, migrate, /
    )
  })
})

interface Answer {
  readonly head: readonly [status: number, headers?: Record<string, string>]
  readonly body: string
}

/** A server that gives these answers. */
const answering = (next: () => Answer) =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer((_, response) => {
          const { body, head } = next()
          response.shouldKeepAlive = false
          response.writeHead(...head).end(body)
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) => Effect.sync(() => server.close())
    )
    const address = server.address()
    return { server, url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}` }
  })

it.scoped("a long backlog is cancelled in parts, and their sum is printed", () =>
  Effect.gen(function*() {
    const answers = [{ cancelled: 5000, more: true }, { cancelled: 7, more: false }]
    const head: Answer["head"] = [200, { "content-type": "application/json" }]
    const { url } = yield* answering(() => ({ head, body: JSON.stringify(answers.shift()) }))
    const args = ["delivery", "cancel", "--application", "1", "--json", "--token", "t", "--url", url]
    const { stdout } = yield* Effect.promise(() => runHere(args))
    expect(JSON.parse(stdout)).toEqual({ cancelled: 5007 })
  }))

it.scoped("a server that is not Startlist is recognized, and a wrong address is named", () =>
  Effect.gen(function*() {
    let answer: Answer = { head: [200], body: "" }
    const { server, url } = yield* answering(() => answer)
    yield* Effect.promise(async () => {
      const list = (at: string) => runHere(["application", "list", "--token", "t", "--url", at])
      const answers: ReadonlyArray<readonly [answer: Answer, line: string]> = [
        [{ head: [200], body: "<h1>It works!</h1>" }, `${url} is not a Startlist service`],
        [{ head: [200], body: "{\"applications\":7}" }, `${url} is not a Startlist service`],
        [{ head: [302, { location: "/elsewhere" }], body: "" }, `${url} answered with status 302`],
        [{ head: [502], body: "<h1>Bad Gateway</h1>" }, `${url} answered with status 502`],
        [{ head: [418], body: "{\"message\":\"a teapot\"}" }, "a teapot"]
      ]
      for (const [given, line] of answers) {
        answer = given
        expect((await list(url)).stderr).toBe(line)
      }
      expect((await list("example")).stderr).toBe("--url: \"example\" is not an http or https URL")
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
      expect((await list(url)).stderr).toBe(`${url} does not answer (ECONNREFUSED): is the service running there?`)
    })
  }))

/** Scripts rely on these names: other commands and options can be added. */
const surface = [
  "serve",
  "migrate --distributed",
  "doctor",
  "move --to",
  "backup",
  "listen --forward-to",
  "fake --port",
  "application create --name --owner-email --redirect-uri",
  ...["list", "rotate-secret", "signing-secret", "suspend", "restore", "revoke-all", "end"].map((name) =>
    `application ${name} --url --token --json`
  ),
  "application limit --requests-per-minute --remove",
  "user create --role --email --password --first-name --last-name",
  ...["list", "disable", "erase", "export", "reset-password", "end-sessions"].map((name) => `user ${name}`),
  "registration create --athlete --organizer --club --platform --platform-id",
  "registration change --status --document-type --document-status --reason --comment",
  ...["list", "pause", "resume", "end"].map((name) => `subscription ${name}`),
  "delivery list --state --application",
  "delivery redeliver --state --since --until",
  "delivery cancel",
  "audit list --action --user --application --since"
]

for (const line of surface) {
  it(`there is a command ${line}`, () => {
    const words = line.split(" ")
    const names = words.filter((word) => !word.startsWith("--"))
    expect(CommandLine.resolve(names)).toMatchObject({ path: names, children: [] })
    const help = CommandLine.render(names).split(/[\s,]+/)
    expect(help).toEqual(expect.arrayContaining(words.slice(names.length)))
  })
}

it("tables show lists as their length, parties as words, and the details of a record below it", () => {
  expect(render({ entries: [{ id: 1, actor: { type: "user", id: 7 }, attempts: [{ at: "x" }, { at: "y" }] }] })).toBe(
    "ID  ACTOR   ATTEMPTS\n1   user 7  2"
  )
  expect(render({ id: 1, attempts: [{ at: "x", status: 500 }] })).toBe(
    "id        1\nattempts  1\n\nattempts:\nAT  STATUS\nx   500"
  )
})

const dangerous = ["\u001b[2J", "\u009b31m", "\r", "\n", "\u0007", "\u007f", "\u202e", "\u2066", "\u2028", "\u{e0041}"]

it("tables and JSON never contain a control character of the response", () => {
  for (const text of dangerous) {
    const name = `Race${text}Day`
    const answers = [
      { id: 1, name },
      { id: 1, [name]: "x" },
      { entries: [{ id: 1, actor: { type: name } }, { [name]: 2 }] },
      { id: 1, redirect_uris: [name, "x"] },
      { id: 1, [name]: [{ name }] },
      { entries: [{ name }], next: name }
    ]
    for (const answer of answers) {
      const rows = render(answer).split("\n")
      expect(rows.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(rows.join("")).toContain("Race\\u")
      expect(rows).toHaveLength(
        render(JSON.parse(JSON.stringify(answer).replaceAll(JSON.stringify(name).slice(1, -1), "x")))
          .split("\n").length
      )
      const json = printableJson(answer)
      expect(json.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(JSON.parse(json)).toEqual(answer)
    }
  }
})

it("progress is one rewritten line on a terminal, and nothing elsewhere", () => {
  for (const isTTY of [true, false]) {
    let written = ""
    const lines = ["redelivered 200, skipped 0", "redelivered 200, skipped 12", ""]
    for (const line of lines) showProgress(line, { isTTY, write: (text) => void (written += text) })
    expect(written).toBe(isTTY ? lines.map((line) => `\r\u001B[2K${line}`).join("") : "")
  }
})
