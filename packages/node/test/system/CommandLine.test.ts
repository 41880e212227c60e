/** The command line as people and scripts use it: tables or JSON, exit status 0, or 1 with one line on stderr. */
import { expect, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { existsSync, openSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Browser, signIn } from "@startlist/test-support/Browser"
import { runHere } from "@startlist/test-support/Commands"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { outputOf } from "@startlist/test-support/RunProgram"
import { runStartlist, type Service, spawnStartlist } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestService from "@startlist/test-support/TestService"
import { on } from "@startlist/test-support/TestService"

/** Runs a command in the environment of the service, which has its URL and token. */
const environment = (service: Service) => ({ DATA_DIR: service.dataDir, PORT: new URL(service.url).port })

const run = (service: Service, ...args: ReadonlyArray<string>) => runStartlist(args, environment(service))

/** Runs a command with these options (an array repeats an option) and returns its JSON. */
const json = async (
  service: Service,
  command: string,
  options: Readonly<Record<string, string | number | ReadonlyArray<string>>> = {}
) => {
  const given = Object.entries(options).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((one) => [`--${name}`, String(one)])
  )
  const { code, stderr, stdout } = await run(service, ...command.split(" "), ...given, "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

const oneLine = /^startlist: [^\n]+\n$/

layer(TestService.layer())("the command line", (it) => {
  it.effect(
    "an operator creates users, an application and a registration, changes it, and lists the deliveries",
    on(async (service) => {
      const owner = await json(service, "user create", {
        "role": "platform",
        "email": "p@example.test",
        "password": "pass word",
        "first-name": "Ada",
        "last-name": "Lovelace"
      })
      expect(owner).toMatchObject({ role: "platform", email: "p@example.test", first_name: "Ada" })
      const redirect_uris = ["https://a.test/cb", "https://b.test/cb"]
      const application = await json(service, "application create", {
        "name": "Race Day",
        "owner-email": "P@example.test",
        "redirect-uri": redirect_uris
      })
      expect(application).toMatchObject({
        owner_id: owner.id,
        redirect_uris,
        client_secret: expect.stringMatching(/^sl_cs_/)
      })
      const listed = await run(service, "application", "list")
      expect(listed.stdout.split("\n")[0]).toMatch(
        /^CLIENT_ID +NAME +OWNER_ID +REDIRECT_URIS +REQUIRE_PKCE +STATE +REQUESTS_PER_MINUTE +WEBSITE +PRIVACY_POLICY +LOGO$/
      )
      expect(listed.stdout).toContain("Race Day")
      expect(listed.stdout).not.toContain("sl_cs_")

      const rotated = await json(service, `application rotate-secret ${application.client_id}`)
      expect(rotated.client_secret).not.toBe(application.client_secret)

      const athlete = await json(service, "user create", {
        role: "athlete",
        email: "a@example.test",
        password: "pass word"
      })
      const registration = await json(service, "registration create", {
        "athlete": athlete.id,
        "platform": owner.id,
        "platform-id": "PLT-1"
      })
      expect(registration).toMatchObject({
        athlete_id: athlete.id,
        platform_user_id: owner.id,
        organizer_id: null,
        platform_id: "PLT-1"
      })
      const changed = await json(service, `registration change ${registration.id}`, {
        "status": "refused",
        "document-type": "license",
        "document-status": "refused",
        "reason": ["unreadable", "expired"],
        "comment": "Sorry, no."
      })
      expect(changed).toEqual({
        ...registration,
        registration_status: "refused",
        document_type: "license",
        document_status: "refused",
        reasons: ["unreadable", "expired"],
        comment: "Sorry, no."
      })
      const filter = { state: "pending", application: application.client_id }
      expect(await json(service, "delivery list", filter)).toEqual({ deliveries: [] })
      expect((await run(service, "delivery", "list")).stdout).toBe("none\n")
    })
  )

  const refusals: ReadonlyArray<readonly [args: string, line: RegExp]> = [
    ["bogus", /bogus|subcommand/i],
    ["user create --role king --email a@b.test --password x", /role|king|expected/i],
    ["user create --role athlete --email a@b.test", /password/],
    ["user create --role athlete --email nonsense --password correct-horse", /email must be an e-mail address/],
    ["application create --name X --owner-email nobody@example.test", /no user with the e-mail address nobody/],
    ["application rotate-secret 999999", /there is no application 999999/],
    ["application rotate-secret one", /one|integer/],
    ["registration create --athlete 999999", /athlete_id/],
    ["delivery redeliver 999999", /there is no delivery 999999/],
    ["delivery list --state lost", /state|lost|expected/i],
    ["application list --token wrong", /operator token is missing or wrong/],
    ["application list --url http://127.0.0.1:1", /http:\/\/127\.0\.0\.1:1 does not answer/]
  ]
  for (const [args, line] of refusals) {
    it.effect(
      `${args}: exit 1, one line on stderr, nothing on stdout`,
      on(async (service) => {
        const { code, stderr, stdout } = await run(service, ...args.split(" "))
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
        expect(stderr).toMatch(oneLine)
        expect(stderr).toMatch(line)
      })
    )
  }

  it.effect(
    "a password is read from standard input, so it need not be in the command line",
    on(async (service) => {
      const args = ["user", "create", "--role", "athlete", "--email", "input@example.test", "--json"]
      const create = (input: string) => spawnStartlist(args, environment(service), undefined, { input })
      const refused = create("short\n")
      expect([(await refused.exit).code, refused.stderr()]).toEqual([
        1,
        expect.stringMatching(/^startlist: --password must be text of 8 to 1000 characters[^\n]*\n$/)
      ])
      const created = create("swordfish and chips\nnot this line\n")
      expect([(await created.exit).code, created.stderr()]).toEqual([0, ""])
      expect(JSON.parse(created.stdout())).toMatchObject({ email: "input@example.test" })
      const browser = new Browser()
      const page = await browser.open(`${service.url}/login`)
      expect((await signIn(browser, page, "input@example.test", "swordfish and chips")).status).toBe(200)
    })
  )

  it.effect(
    "without a token, the message names the places for one",
    on(async (service) => {
      const { code, stderr } = await runStartlist(["application", "list", "--url", service.url], {
        DATA_DIR: `${service.dataDir}/nowhere`
      })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^startlist: no operator token: give --token, set OPERATOR_TOKEN, or .*nowhere.*\n$/)
    })
  )

  it.effect.skipIf(!existsSync("/dev/full"))(
    "a command fails if its output cannot be written, but not if its reader closes the pipe",
    on(async (service) => {
      const printing = async (stdout?: number) => {
        const list = spawnStartlist(["application", "list"], environment(service), undefined, { stdout })
        list.child.stdout?.destroy()
        const { code } = await list.exit
        return { code, stderr: list.stderr() }
      }
      expect(await printing()).toEqual({ code: 0, stderr: "" })
      expect(await printing(openSync("/dev/full", "w"))).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^startlist: the output cannot be written: ENOSPC[^\n]*\n$/)
      })
    })
  )

  it.effect(
    "an interrupted command fails",
    on(async () => {
      const silent = createServer().listen(0, "127.0.0.1")
      await once(silent, "listening")
      const address = silent.address()
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
      const list = spawnStartlist(["application", "list", "--url", url, "--token", "token"], {})
      const [socket] = await once(silent, "connection")
      list.child.kill("SIGINT")
      expect([await list.exit, list.stderr()]).toEqual([
        { code: 1, signal: null },
        "startlist: interrupted before the command was complete\n"
      ])
      socket.destroy()
      silent.close()
    })
  )

  it.effect(
    "--url and --token reach a service from anywhere",
    on(async (service) => {
      const given = ["--url", service.url, "--token", service.operatorToken]
      const { code, stdout } = await runStartlist(["application", "list", ...given], {})
      expect([code, stdout.length > 0]).toEqual([0, true])
    })
  )

  it.effect(
    "--help and --version print to stdout, without colours when piped",
    on(async (service) => {
      const help = await run(service, "--help")
      expect(help.code).toBe(0)
      for (const command of ["serve", "migrate", "doctor", "application", "user", "registration", "delivery"]) {
        expect(help.stdout).toContain(command)
      }
      expect(help.stdout).not.toContain("\u001B[")
      expect((await run(service, "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    })
  )

  it.effect(
    "migrate and a second serve fail with one line if the data folder is in use",
    on(async (service) => {
      for (const args of [["migrate"], ["serve"]]) {
        const { code, stderr, stdout } = await runStartlist(args, { DATA_DIR: service.dataDir, PORT: "0" })
        expect({ code, stdout, stderr }).toEqual({
          code: 1,
          stdout: "",
          stderr: `startlist: DATA_DIR: the data folder ${service.dataDir} is in use by another process\n`
        })
      }
    })
  )

  it.scoped(
    "doctor finds no problem beside a running service, and validates a callback on demand",
    () =>
      Effect.gen(function*() {
        const service = yield* TestService.TestService
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          const well = await run(service, "doctor", "--callback", receiver.url)
          expect(well.stderr).toBe("")
          expect(well.stdout.split("\n").filter((line) => line !== "").every((line) => line.startsWith("ok"))).toBe(
            true
          )
          expect(receiver.received).toHaveLength(1)
          const ill = await run(service, "doctor", "--callback", "http://127.0.0.1:1/")
          expect(ill.code).toBe(1)
          expect(ill.stdout).toMatch(/^FAIL {2}callback: cannot be reached/m)
          expect(ill.stderr).toMatch(oneLine)
          const forbidden = await run(service, "doctor", "--callback", "https://10.0.0.1/")
          expect(forbidden.stderr).toMatch(/^startlist: callback: .*CALLBACK_ALLOW/)
        })
      })
  )
})

it.scoped("the shell completes commands and options", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    yield* Effect.promise(async () => {
      for (const shell of ["bash", "zsh", "fish"]) {
        const { code, stdout } = await runHere(["--completions", shell])
        expect(code).toBe(0)
        for (const word of ["application", "rotate-secret", "redeliver", "audit"]) expect(stdout).toContain(word)
        expect(stdout).not.toContain("\u001B[")
      }
      const script = join(folder, "completions.bash")
      writeFileSync(script, (await runHere(["--completions", "bash"])).stdout)
      const complete = async (...words: ReadonlyArray<string>) => {
        const completed = await outputOf("bash", [
          "-c",
          `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); ` +
          "_startlist_bash_completions startlist; printf '%s\\n' \"${COMPREPLY[@]}\"",
          "bash",
          script,
          ...words
        ])
        return completed.trim().split("\n")
      }
      expect(await complete("startlist", "del")).toEqual(["delivery"])
      expect(await complete("startlist", "delivery", "re")).toEqual(["redeliver"])
      expect(await complete("startlist", "delivery", "list", "--st")).toEqual(["--state"])
      expect(await complete("startlist", "delivery", "list", "--state", "ex")).toEqual(["exhausted"])
      expect(await complete("startlist", "application", "rotate-secret", "7", "--ov")).toEqual(["--overlap-seconds"])
    })
  }))
