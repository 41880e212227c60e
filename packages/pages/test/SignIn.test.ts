/** Sign-in: which attempts count as those of one account, and how a session describes its browser. */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { FailureLimit, type Http, HttpConfig } from "@startlist/http"
import { Accounts, SignInLimit } from "@startlist/pages"
import { describeBrowser } from "../src/internal/Login.tsx"

const limits = Context.get(Context.empty(), SignInLimit.PasswordLimits)
const keysOf = (email: string) => SignInLimit.strangerKeys(limits, email, "192.0.2.1")

it("all overlong e-mail addresses count as one account", () => {
  const [first] = keysOf("a".repeat(60_000))
  expect(first?.value.length).toBeLessThan(100)
  expect(keysOf("b".repeat(400))[0]).toEqual(first)
})

it("an e-mail address in any case counts as one account", () => {
  expect(keysOf("A@x.test")).toEqual(keysOf("a@X.test"))
})

it.effect("a guess whose sender disconnects is no sign-in of the account, also where counting takes time", () =>
  Effect.gen(function*() {
    const { giveBack, take } = yield* FailureLimit.FailureLimit
    const slowly = <A>(count: Effect.Effect<A>) =>
      Effect.zipRight(Effect.yieldNow(), Effect.zipLeft(count, Effect.yieldNow()))
    const { limited } = yield* Effect.provideService(SignInLimit.make, FailureLimit.FailureLimit, {
      take: (keys) => slowly(take(keys)),
      giveBack: (keys) => slowly(giveBack(keys))
    })
    const request: Http.Request = {
      method: "POST",
      path: "/login",
      query: "",
      headers: {},
      body: new Uint8Array(),
      address: "192.0.2.1"
    }
    const check = (isRight: boolean) =>
      limited(request, "a@x.test", Effect.as(Effect.yieldNow(), isRight), (checked) => !checked)
    for (let turns = 0; turns < 30; turns++) {
      const guess = yield* Effect.fork(check(false))
      for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow()
      yield* Fiber.interrupt(guess)
    }
    for (let i = 1; i <= 20; i++) expect([i, yield* check(true)]).toEqual([i, { checked: true }])
    expect(yield* check(true)).toHaveProperty("wait")
  }).pipe(
    Effect.provideService(SignInLimit.PasswordLimits, {
      ...limits,
      perAccountAndNetwork: { ...limits.perAccountAndNetwork, count: 100 },
      perAccount: { ...limits.perAccount, count: 100 }
    }),
    Effect.provide([FailureLimit.layerMemory, HttpConfig.layerLocal, Layer.mock(Accounts.Accounts, { idOf: () => "" })])
  ))

it("a browser has a name and a system, and nothing else of its User-Agent is stored", () => {
  const cases = [
    ["Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0", "Firefox, Windows"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36 Edg/129.0",
      "Edge, Windows"
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile Safari/604.1",
      "Safari, iPhone"
    ],
    [
      "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/26.0 Chrome/122.0 Mobile Safari/537.36",
      "Samsung Internet, Android"
    ],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/129.0 Safari/537.36", "Chrome, macOS"],
    ["curl/8.5", ""],
    ["<script>Firefox/", "Firefox"],
    ["", ""],
    [undefined, ""]
  ] as const
  expect(cases.map(([userAgent]) => describeBrowser(userAgent))).toEqual(cases.map(([, described]) => described))
})
