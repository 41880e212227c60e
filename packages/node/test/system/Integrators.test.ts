/** `startlist fake` and `startlist listen` as processes, with a receiver beside them. */
import { expect, it } from "@effect/vitest"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { spawnStartlist } from "@startlist/test-support/ServiceProcess"
import { Effect } from "effect"

const started = (args: ReadonlyArray<string>, environment: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => spawnStartlist(args, environment)),
    ({ child, exit }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return exit
      })
  )

const line = (stdout: () => string, pattern: RegExp) =>
  expect.poll(stdout, { interval: 20 }).toMatch(pattern).then(() => pattern.exec(stdout()) ?? [])

const post = async (url: string, body: unknown) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  return response.status === 204 ? undefined : await response.json()
}

it.scopedLive(
  "events of a fake reach a receiver on this machine through listen, signed with the secret that it prints",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const fake = yield* started(["fake", "--json"])
      const [printed = ""] = yield* Effect.promise(() => line(fake.stdout, /^\{.*\}$/m))
      const { application, url, users } = JSON.parse(printed)
      const [platform, athlete] = users
      const consented = (user: number) =>
        Effect.promise(async () => {
          const query = new URLSearchParams({
            client_id: String(application.clientId),
            redirect_uri: "http://localhost:7000/back",
            response_type: "code",
            scope: "read"
          })
          const { redirect } = await post(`${url}/fake/consent`, { url: `${url}/oauth/authorize?${query}`, user })
          const response = await fetch(`${url}/oauth/token`, {
            method: "POST",
            body: new URLSearchParams({
              client_id: String(application.clientId),
              client_secret: application.clientSecret,
              grant_type: "authorization_code",
              code: new URL(redirect).searchParams.get("code") ?? ""
            })
          })
          return (await response.json()).access_token
        })
      const token = yield* consented(platform.id)
      yield* consented(athlete.id)
      const subscription = { webhook_subscription: { callback_url: receiver.urlOf("/own"), verify_token: "v" } }
      yield* Effect.promise(() =>
        fetch(`${url}/api/v1/webhook_subscription`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(subscription)
        })
      )
      const { id } = yield* Effect.promise(() => post(`${url}/fake/registrations`, {}))
      const change = (comment: string) =>
        Effect.promise(() =>
          fetch(`${url}/fake/registrations/${id}`, {
            method: "PATCH",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ comment })
          })
        )
      yield* change("before")

      const forwardTo = receiver.urlOf("/here")
      const listen = yield* started(["listen", "--url", url, "--forward-to", forwardTo], {
        STARTLIST_ACCESS_TOKEN: token
      })
      const [, secret = ""] = yield* Effect.promise(() => line(listen.stdout, /signed with (whsec_\S+)/))
      receiver.verify("/here", secret)
      yield* change("after")
      const [event] = yield* Effect.promise(() => receiver.posts(1, "/here"))
      expect([event?.isSigned, event?.sequence, JSON.parse(event?.body ?? "").updates.comment])
        .toEqual([true, 3, "after"])
      yield* Effect.promise(() => line(listen.stdout, /evt_\S+ registration 1 updated: 200 \(\d+ ms\)/))
      expect(listen.stdout()).not.toContain(token)
      listen.child.kill("SIGINT")
      expect(yield* Effect.promise(() => listen.exit)).toEqual({ code: 0, signal: null })
      const [, cursor = ""] = /--after (\S+)/.exec(listen.stdout()) ?? []

      yield* change("missed")
      const again = yield* started([
        "listen",
        "--url",
        url,
        "--forward-to",
        forwardTo,
        "--secret",
        secret,
        "--after",
        cursor,
        "--token",
        token
      ])
      const [, missed] = yield* Effect.promise(() => receiver.posts(2, "/here"))
      expect(JSON.parse(missed?.body ?? "").updates.comment).toBe("missed")

      yield* Effect.promise(() => post(`${url}/fake/time`, { advance: "9 hours" }))
      expect(yield* Effect.promise(() => again.exit)).toEqual({ code: 1, signal: null })
      expect(again.stderr()).toContain("the access token has expired or was revoked")
      fake.child.kill("SIGTERM")
      expect(yield* Effect.promise(() => fake.exit)).toEqual({ code: 0, signal: null })
    })
)

it.scopedLive(
  "a fake without arguments prints what an application needs, answers, and ends with status 0 when it is stopped",
  () =>
    Effect.gen(function*() {
      const fake = yield* started(["fake"])
      const [, url = ""] = yield* Effect.promise(() => line(fake.stdout, /listens on (\S+)\./))
      yield* Effect.promise(() => line(fake.stdout, /signing_secret {2}whsec_/))
      expect((yield* Effect.promise(() => fetch(`${url}/fake`))).status).toBe(200)
      fake.child.kill("SIGINT")
      expect(yield* Effect.promise(() => fake.exit)).toEqual({ code: 0, signal: null })
      expect(fake.stderr()).toBe("")
      const wrong = yield* started(["fake", "now"])
      expect(yield* Effect.promise(() => wrong.exit)).toEqual({ code: 1, signal: null })
      expect(wrong.stderr()).toMatch(/^startlist: .*now.*\n$/)
    })
)

it.scopedLive(
  "listen names the problem, and continues when the service is available again",
  () =>
    Effect.gen(function*() {
      const run = (args: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const { exit, stderr } = yield* started(["listen", ...args], { STARTLIST_ACCESS_TOKEN: "x" })
          yield* Effect.promise(() => exit)
          return stderr()
        })
      expect(yield* run(["--forward-to", "ftp://x"])).toContain("is not an http or https URL")
      expect(yield* run(["--forward-to", "http://localhost:1/", "--secret", "abc"])).toContain("begins with whsec_")
      const fake = yield* started(["fake", "--json"])
      const [printed = ""] = yield* Effect.promise(() => line(fake.stdout, /^\{.*\}$/m))
      const { url } = JSON.parse(printed)
      expect(yield* run(["--url", url, "--forward-to", "http://localhost:1/"])).toContain(
        "the access token has expired or was revoked"
      )
      const taken = yield* started(["fake", "--port", new URL(url).port])
      expect(yield* Effect.promise(() => taken.exit)).toEqual({ code: 1, signal: null })
      expect(taken.stderr()).toMatch(/: port: \d+ is already in use on 127\.0\.0\.1\. Choose another port\.\n$/)
      const away = yield* started(["listen", "--url", "http://127.0.0.1:1", "--forward-to", "http://localhost:1/"], {
        STARTLIST_ACCESS_TOKEN: "x"
      })
      yield* Effect.promise(() => line(away.stdout, /does not answer: retrying/))
    })
)
