/**
 * Laws 1c and 3: a line of tokens begins with the exchange of a code. Nothing that happens to one line ends another,
 * except a revocation. By default, a replay does not even end its own line.
 */
import { describe, expect, it } from "@effect/vitest"
import { type Audit, OAuth, type Token, type User } from "@startlist/core"
import { Effect, Option, Redacted, TestClock } from "effect"
import {
  authenticate,
  type Client,
  connected,
  consent,
  exchange,
  layer,
  layerWith,
  makeClient,
  makeUser,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

const key = { idempotencyKey: Option.some("one") }

/** The applications on the user's page. */
const listed = (user: User.User) =>
  Effect.flatMap(
    OAuth.OAuth,
    ({ authorized }) => Effect.map(authorized(user.id), (all) => all.map(({ application }) => application.id))
  )

/** All tokens of this pair are accepted, so it is of the present line. */
const mustBePresent = (client: Client, { accessToken, refreshToken }: Token.TokenAnswer) =>
  Effect.gen(function*() {
    expect(yield* authenticate(accessToken)).toBe("good")
    return yield* refresh(client, refreshToken)
  })

const pauses = ["0 seconds", "59999 millis", "60 seconds", "1 hour", "7 hours"] as const

const replays = ["refuse", "revoke"] as const

describe("a replay", () => {
  for (const pause of pauses) {
    it.effect(`of a replaced refresh token or a used code after ${pause} is refused, and nothing else happens`, () =>
      Effect.gen(function*() {
        const { client, code, first } = yield* connected
        const second = yield* refresh(client, first.refreshToken)
        const third = yield* refresh(client, second.refreshToken)
        yield* TestClock.adjust(pause)
        for (const { refreshToken } of [first, second]) {
          expect(yield* refusal(refresh(client, refreshToken))).toBe("replaced")
          expect(yield* refusal(refresh(client, refreshToken, key))).toBe("replaced")
        }
        const isKnown = pause === "0 seconds" || pause === "59999 millis" || pause === "60 seconds"
        expect(yield* refusal(exchange(client, code))).toBe(isKnown ? "used" : "unknown")
        yield* mustBePresent(client, third)
      }).pipe(Effect.provide(layer)))
  }

  for (const replay of replays) {
    it.effect(`is recorded with its application, user, address and reason (${replay})`, () => {
      const recorded: Array<Audit.Acted> = []
      const record = (entry: Audit.Entry) => void (entry._tag === "Acted" && recorded.push(entry))
      return Effect.gen(function*() {
        const from = { address: "192.0.2.7" }
        const { client, code, first, user } = yield* connected
        const second = yield* refresh(client, first.refreshToken, key)
        yield* TestClock.adjust("59 seconds")
        yield* refresh(client, first.refreshToken, { ...key, ...from })
        yield* refusal(exchange(client, Redacted.make(`${Redacted.value(code)}x`), from))
        yield* refusal(refresh(client, Redacted.make(`${Redacted.value(first.refreshToken)}x`), from))
        yield* refusal(refresh(yield* makeClient(), first.refreshToken, from))
        expect(recorded).toEqual([])
        yield* refusal(refresh(client, first.refreshToken, from))
        yield* refusal(exchange(client, code, from))
        yield* tokensOf(client, user)
        yield* TestClock.adjust("1 minute")
        yield* refusal(refresh(client, second.refreshToken, from))
        const third = yield* tokensOf(client, user)
        yield* refresh(client, third.refreshToken)
        yield* TestClock.adjust("1 minute")
        yield* refusal(refresh(client, third.refreshToken, from))
        const last = replay === "revoke" ? "replayed" : "replaced"
        expect(recorded).toMatchObject(
          ["replaced", "used", "superseded", last].map((detail) => ({
            action: "replay_refused",
            actor: { applicationId: client.id },
            subject: { userId: user.id },
            address: "192.0.2.7",
            detail
          }))
        )
      }).pipe(Effect.provide(layerWith({ replay }, record)))
    })
  }
})

for (const replay of replays) {
  const services = layerWith({ replay })
  describe(`two lines of one user (${replay})`, () => {
    it.effect("the later one supersedes the refresh token of the earlier one, and nothing else", () =>
      Effect.gen(function*() {
        const { client, first, user } = yield* connected
        const second = yield* refresh(client, first.refreshToken)
        const other = yield* tokensOf(client, user)
        for (const pause of pauses) {
          yield* TestClock.adjust(pause)
          for (const { refreshToken } of [first, second]) {
            expect(yield* refusal(refresh(client, refreshToken))).toBe("superseded")
          }
          for (const { accessToken } of pause === "7 hours" ? [] : [first, second, other]) {
            expect(yield* authenticate(accessToken)).toBe("good")
          }
        }
        yield* refresh(client, other.refreshToken)
      }).pipe(Effect.provide(services)))

    it.effect("devices that connect in turns never end more than the refresh token of the other one", () =>
      Effect.gen(function*() {
        const { client, first, user } = yield* connected
        let before = first
        for (let n = 0; n < 10; n++) {
          const connection = yield* tokensOf(client, user)
          yield* TestClock.adjust("2 minutes")
          expect(yield* refusal(refresh(client, before.refreshToken))).toBe("superseded")
          expect(yield* authenticate(before.accessToken)).toBe("good")
          before = yield* mustBePresent(client, connection)
        }
      }).pipe(Effect.provide(services)))

    it.effect("a code of the earlier one ends nothing when it is used again, with its Idempotency-Key or without", () =>
      Effect.gen(function*() {
        for (const presented of [key, {}]) {
          const client = yield* makeClient()
          const user = yield* makeUser()
          const code = yield* consent(client, user)
          const first = yield* exchange(client, code, key)
          const other = yield* tokensOf(client, user)
          yield* TestClock.adjust("61 seconds")
          expect(yield* refusal(exchange(client, code, presented))).toBe("used")
          expect(yield* authenticate(first.accessToken)).toBe("good")
          yield* mustBePresent(client, other)
        }
      }).pipe(Effect.provide(services)))

    it.effect("end together when the application revokes one of them, also by a superseded token", () =>
      Effect.gen(function*() {
        const { revoke } = yield* OAuth.OAuth
        for (const kind of ["accessToken", "refreshToken"] as const) {
          const { client, first, user } = yield* connected
          const other = yield* tokensOf(client, user)
          yield* revoke(client, first[kind])
          for (const { accessToken } of [first, other]) {
            expect(yield* authenticate(accessToken)).toBe("@startlist/core/InvalidToken")
          }
          expect(yield* refusal(refresh(client, other.refreshToken))).toBe("revoked")
          expect(yield* listed(user)).toEqual([])
        }
      }).pipe(Effect.provide(services)))
  })

  describe(`a thief (${replay})`, () => {
    it.effect("with a refresh token or a code, and no secret of its client, gets nothing and ends nothing", () =>
      Effect.gen(function*() {
        const { client, code, first, user } = yield* connected
        const second = yield* refresh(client, first.refreshToken)
        const unused = yield* consent(client, user)
        yield* TestClock.adjust("2 minutes")
        const impostor = { id: client.id, secret: Redacted.make("guessed") }
        for (const thief of [yield* makeClient(), impostor]) {
          for (const { refreshToken } of [first, second]) yield* Effect.flip(refresh(thief, refreshToken, key))
          for (const stolen of [code, unused]) yield* Effect.flip(exchange(thief, stolen, key))
        }
        yield* mustBePresent(client, second)
        yield* exchange(client, unused)
      }).pipe(Effect.provide(services)))

    it.effect("with the secret, too, cannot refresh any more when the user has connected again", () =>
      Effect.gen(function*() {
        const { client, first, user } = yield* connected
        yield* TestClock.adjust("1 hour")
        const stolen = yield* refresh(client, first.refreshToken)
        yield* TestClock.adjust("1 hour")
        expect(yield* refusal(refresh(client, first.refreshToken))).toBe(replay === "revoke" ? "replayed" : "replaced")
        const again = yield* tokensOf(client, user)
        expect(yield* refusal(refresh(client, stolen.refreshToken))).toBe("superseded")
        yield* mustBePresent(client, again)
        yield* TestClock.adjust("7 hours")
        expect(yield* authenticate(stolen.accessToken)).toBe("@startlist/core/InvalidToken")
      }).pipe(Effect.provide(services)))
  })
}

describe("with the policy revoke", () => {
  const test = (name: string, effect: () => Effect.Effect<void, unknown, Effect.Effect.Context<typeof connected>>) =>
    it.effect(name, () => effect().pipe(Effect.provide(layerWith({ replay: "revoke" }))))

  test("the predecessor within 60 s is a client's double send; later, it revokes its line", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("59999 millis")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
      expect(yield* authenticate(second.accessToken)).toBe("good")
      yield* TestClock.adjust("1 millis")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replayed")
      for (const { accessToken } of [first, second]) {
        expect(yield* authenticate(accessToken)).toBe("@startlist/core/InvalidToken")
      }
      for (const { refreshToken } of [first, second]) {
        expect(yield* refusal(refresh(client, refreshToken))).toBe("ended")
      }
    }))

  test("an older token revokes its line, however soon", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      const third = yield* refresh(client, second.refreshToken)
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replayed")
      expect(yield* authenticate(third.accessToken)).toBe("@startlist/core/InvalidToken")
    }))

  test("a code that is used again after 60 s revokes its line, also if the line was refreshed since", () =>
    Effect.gen(function*() {
      for (const isRefreshed of [false, true]) {
        const { client, code, first, user } = yield* connected
        yield* TestClock.adjust("59999 millis")
        expect(yield* refusal(exchange(client, code))).toBe("used")
        const last = isRefreshed ? yield* refresh(client, first.refreshToken) : first
        expect(yield* authenticate(last.accessToken)).toBe("good")
        yield* TestClock.adjust("1 millis")
        expect(yield* refusal(exchange(client, code))).toBe("replayed")
        for (const { accessToken } of [first, last]) {
          expect(yield* authenticate(accessToken)).toBe("@startlist/core/InvalidToken")
        }
        const pending = yield* consent(client, user)
        expect(yield* refusal(refresh(client, last.refreshToken))).toBe("ended")
        yield* exchange(client, pending)
        expect(yield* refusal(refresh(client, last.refreshToken))).toBe("superseded")
        expect(yield* refusal(exchange(client, code))).toBe("used")
      }
    }))

  test("a used code is forgotten when it expires", () =>
    Effect.gen(function*() {
      const { client, code, first } = yield* connected
      yield* TestClock.adjust("5 minutes")
      expect(yield* refusal(exchange(client, code))).toBe("unknown")
      yield* mustBePresent(client, first)
    }))

  test("the end of a line leaves earlier lines, pending codes and the consent", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const earlier = yield* refresh(client, first.refreshToken)
      const [one, pending] = [yield* consent(client, user), yield* consent(client, user)]
      const second = yield* exchange(client, one)
      const third = yield* refresh(client, second.refreshToken)
      yield* TestClock.adjust("2 minutes")
      expect(yield* refusal(refresh(client, second.refreshToken))).toBe("replayed")
      for (const { accessToken } of [first, earlier]) expect(yield* authenticate(accessToken)).toBe("good")
      for (const { accessToken } of [second, third]) {
        expect(yield* authenticate(accessToken)).toBe("@startlist/core/InvalidToken")
      }
      expect(yield* listed(user)).toEqual([client.id])
      const next = yield* exchange(client, pending)
      expect(yield* refusal(exchange(client, one))).toBe("used")
      yield* mustBePresent(client, next)
    }))

  test("the end of a line removes its access tokens only, also if older ones were dropped or have expired", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      let last = first
      for (let n = 0; n < 15; n++) last = yield* refresh(client, last.refreshToken)
      yield* TestClock.adjust("5 hours")
      const earlier = last
      last = yield* tokensOf(client, user)
      const line = [last]
      for (let n = 0; n < 15; n++) line.push(last = yield* refresh(client, last.refreshToken))
      expect(yield* authenticate(earlier.accessToken)).toBe("good")
      expect(yield* refusal(refresh(client, line[3]?.refreshToken ?? last.refreshToken))).toBe("replayed")
      expect(yield* authenticate(earlier.accessToken)).toBe("good")
      for (const { accessToken } of line) expect(yield* authenticate(accessToken)).toBe("@startlist/core/InvalidToken")
    }))

  test("the application can still revoke by a token of a line that has ended", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const { client, first, user } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("2 minutes")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replayed")
      yield* revoke(client, second.refreshToken)
      expect(yield* listed(user)).toEqual([])
      expect(yield* refusal(refresh(client, second.refreshToken))).toBe("revoked")
    }))
})
