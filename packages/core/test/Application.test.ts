import { describe, expect, it } from "@effect/vitest"
import { Application, Applications, Memory, Policy, type Services, Store } from "@startlist/core"
import { Context, Effect, Either, FastCheck, Layer, Redacted } from "effect"
import { layer, layerOver, makeClient, makeUser, redirectUri } from "./support/fixture.ts"

const accepted = (uris: ReadonlyArray<string>) => Either.isRight(Application.checkRedirectUris(uris))

/** Matches the patterns of addresses, and is no URL to which a browser can go. */
const noUrls = [
  "[::1",
  "[::1]]",
  "[::g]",
  "a.example:99999",
  "a.example:65536",
  "a.example:x",
  "a.example:1:2",
  "a.example:0",
  "a.example:00000",
  "a..[b"
]

/** Queries in which a client reads a parameter of the answer, encoded in different ways. */
const repeating = FastCheck.tuple(
  FastCheck.constantFrom("code", "scope", "state", "iss", "error", "error_description", "error_uri"),
  FastCheck.nat(3),
  FastCheck.constantFrom("", "a=b&", "&", "=&"),
  FastCheck.constantFrom("", "=", "=x", "=x&a=b", "&x")
).map(([name, at, before, after]) => {
  const escaped = `%${name.charCodeAt(at % name.length).toString(16)}`
  const encoded = name.slice(0, at % name.length) + escaped + name.slice(at % name.length + 1)
  return [`?${before}${name}${after}`, `?${before}${encoded}${after}`] as const
})

describe("a redirect URI that is not registered", () => {
  it.effect("is accepted on localhost, 127.0.0.1 and [::1], by http and https, any port, path and query", () =>
    Effect.gen(function*() {
      const { application } = yield* makeClient()
      for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
        for (const rest of ["", "/", ":1", ":65535/callback", "/a/b?c=d&e=f", "?x"]) {
          for (const scheme of ["http", "https"]) {
            const uri = `${scheme}://${host}${rest}`
            expect(Application.acceptsRedirect(application, uri, Policy.documented), uri).toBe(true)
          }
        }
      }
    }).pipe(Effect.provide(layer)))

  it.effect("is refused when it only looks like loopback", () =>
    Effect.gen(function*() {
      const { application } = yield* makeClient()
      for (
        const uri of [
          "http://localhost.evil.test/",
          "http://localhost@evil.test/",
          "http://evil.test@localhost/",
          "http://user:password@127.0.0.1/",
          "http://127.0.0.1.evil.test",
          "http://127.0.0.2/",
          "http://127.1/",
          "http://2130706433/",
          "http://0.0.0.0/",
          "http://[::]/",
          "http://[::ffff:127.0.0.1]/",
          "http://localhost:80a/",
          "http://localhost:123456/",
          "http://localhost:0/",
          "http://127.0.0.1:00000",
          "http://localhost:/",
          "http://localhost\\@evil.test/",
          "http://localhost/\\evil",
          "http://localhost/#fragment",
          "http://localhost#fragment",
          "http://localhost/a b",
          "http://localhost/a\nb",
          "http://localhost/é",
          "http://LOCALHOST.evil",
          "http:localhost",
          "http:///localhost/",
          "//localhost/",
          "https://localhost.evil.test/",
          "https://localhost@evil.test/",
          "https://evil.test@127.0.0.1/",
          "https://localhost/#fragment",
          "ftp://localhost/",
          "javascript://localhost/%0aalert(1)",
          "http://localhost/" + "a".repeat(2000),
          " http://localhost/",
          "http://localhost/\u0000",
          ""
        ]
      ) {
        expect(Application.acceptsRedirect(application, uri, Policy.documented), uri).toBe(false)
      }
    }).pipe(Effect.provide(layer)))

  it.effect.prop(
    "is refused on loopback if the answer would repeat a parameter of it",
    { queries: repeating, host: FastCheck.constantFrom("localhost", "127.0.0.1:7999", "[::1]") },
    ({ host, queries }) =>
      Effect.map(makeClient(), ({ application }) => {
        for (const query of queries) {
          for (const uri of [`http://${host}/${query}`, `https://${host}${query}`]) {
            expect(Application.acceptsRedirect(application, uri, Policy.documented), uri).toBe(false)
          }
        }
      }).pipe(Effect.provide(layer)),
    { fastCheck: { numRuns: 50 } }
  )

  it.effect("is refused on loopback too in the rfc profile", () =>
    Effect.gen(function*() {
      const { application } = yield* makeClient()
      expect(Application.acceptsRedirect(application, "http://localhost/", Policy.rfc)).toBe(false)
      expect(Application.acceptsRedirect(application, redirectUri, Policy.rfc)).toBe(true)
    }).pipe(Effect.provide(layer)))

  it.effect.prop(
    "is refused if it is not loopback, whatever it is",
    { uri: FastCheck.webUrl() },
    ({ uri }) =>
      Effect.map(makeClient(), ({ application }) => {
        expect(Application.acceptsRedirect(application, uri, Policy.documented)).toBe(false)
      }).pipe(Effect.provide(layer)),
    { fastCheck: { numRuns: 50 } }
  )
})

describe("a registered redirect URI", () => {
  it.effect("has a free port on a loopback address, and nothing else that is free", () =>
    Effect.gen(function*() {
      const redirectUris = ["http://127.0.0.1/cb", "http://[::1]:3000/cb", "http://localhost:3000/cb", redirectUri]
      const { application } = yield* makeClient({ redirectUris })
      const accepts = (uri: string) => Application.acceptsRedirect(application, uri, Policy.rfc)
      for (const uri of ["http://127.0.0.1:49152/cb", "http://127.0.0.1/cb", "http://[::1]:1/cb", "http://[::1]/cb"]) {
        expect(accepts(uri), uri).toBe(true)
      }
      for (
        const uri of [
          "http://127.0.0.1:49152/",
          "http://127.0.0.1:49152/cb?x",
          "http://127.0.0.1:123456/cb",
          "http://127.0.0.1:0/cb",
          "https://127.0.0.1:49152/cb",
          "http://127.0.0.1:1@evil.test/cb",
          "http://127.0.0.1:1.evil.test/cb",
          "http://localhost:3001/cb",
          "http://localhost/cb",
          "https://app.example.test:444/callback"
        ]
      ) {
        expect(accepts(uri), uri).toBe(false)
      }
    }).pipe(Effect.provide(layer)))

  it.effect.prop(
    "is accepted as it is, and with nothing added, removed or changed",
    { at: FastCheck.nat(redirectUri.length - 1), character: FastCheck.constantFrom("a", "/", ".", "?", "%", "A", "") },
    ({ at, character }) =>
      Effect.map(makeClient(), ({ application }) => {
        const accepts = (uri: string) => Application.acceptsRedirect(application, uri, Policy.documented)
        const changed = redirectUri.slice(0, at) + character + redirectUri.slice(at + 1)
        expect(accepts(redirectUri)).toBe(true)
        expect(accepts(changed)).toBe(changed === redirectUri)
        expect(accepts(redirectUri + character)).toBe(character === "")
      }).pipe(Effect.provide(layer)),
    { fastCheck: { numRuns: 50 } }
  )

  it("is https, or http on loopback", () => {
    expect(accepted(["https://app.example.test/cb", "https://[2001:db8::1]:8443/", "http://localhost:3000/cb"])).toBe(
      true
    )
    for (
      const bad of [
        "http://app.example.test/cb",
        "https://",
        "https:///path",
        "https://user@app.example.test/",
        "https://app.example.test/#fragment",
        "https://app.example.test\\evil",
        "https://app.example.test/ space",
        "https://exämple.test/",
        "ftp://app.example.test/",
        "app:/callback",
        "javascript:alert(1)",
        "",
        "/callback"
      ]
    ) {
      expect(accepted([bad]), bad).toBe(false)
    }
  })

  it.prop("has no parameter that the answer would repeat", { queries: repeating }, ({ queries }) => {
    for (const query of queries) {
      expect(accepted([`https://app.example.test/cb${query}`]), query).toBe(false)
      expect(accepted([`https://app.example.test/cb?x=${encodeURIComponent(query)}`]), query).toBe(true)
    }
  })

  it("is a URL, like the links of the application", () => {
    for (const authority of noUrls) {
      const url = `https://${authority}/`
      expect(accepted([url]), url).toBe(false)
      for (const field of ["website", "privacyPolicy", "logo"]) {
        expect(Either.isLeft(Application.checkLinks({ [field]: url })), url).toBe(true)
      }
    }
    expect(accepted(["https://a.example:65535/", "https://[::1]:1/", "http://[::1]", "http://localhost:1/"])).toBe(true)
    expect(Either.isRight(Application.checkLinks({ website: "https://a.example:8443/?code=1" }))).toBe(true)
  })

  it("is listed once, among at most 20", () => {
    const uris = Array.from({ length: 21 }, (_, index) => `https://app.example.test/${index}`)
    expect(accepted(uris.slice(1))).toBe(true)
    expect(accepted(uris)).toBe(false)
    expect(accepted(["https://a.test/", "https://a.test/"])).toBe(false)
  })
})

describe("an application", () => {
  it.effect("is authenticated by its own secret and no other", () =>
    Effect.gen(function*() {
      const { authenticate } = yield* Applications.Applications
      const [one, two] = [yield* makeClient(), yield* makeClient()]
      expect((yield* authenticate(one)).id).toBe(one.id)
      const wrong = [
        { id: one.id, secret: two.secret },
        { id: one.id, secret: Redacted.make("") },
        { id: Application.ApplicationId.make(999), secret: one.secret }
      ]
      for (const credentials of wrong) {
        expect((yield* Effect.flip(authenticate(credentials)))._tag).toBe("@startlist/core/InvalidClient")
      }
    }).pipe(Effect.provide(layer)))

  it.effect("stores no secret in clear", () =>
    Effect.gen(function*() {
      const { application, secret } = yield* makeClient()
      expect(JSON.stringify(application)).not.toContain(Redacted.value(secret))
    }).pipe(Effect.provide(layer)))

  it.effect("belongs to a platform user, has a trimmed name of 1 to 100 characters and good redirect URIs", () =>
    Effect.gen(function*() {
      const { create } = yield* Applications.Applications
      const owner = yield* makeUser("platform")
      const good = { name: "App", redirectUris: [redirectUri], requirePkce: false }
      const fieldOf = <A, R>(
        creating: Effect.Effect<A, Application.InvalidApplication | { readonly _tag: string }, R>
      ) => Effect.map(Effect.flip(creating), (error) => "field" in error ? error.field : error._tag)
      for (const name of ["", " App", "App ", "a".repeat(101), "nul\0"]) {
        expect(yield* fieldOf(create(owner.id, { ...good, name })), name).toBe("name")
      }
      expect(yield* fieldOf(create(owner.id, { ...good, redirectUris: ["http://a.test"] }))).toBe("redirect_uris")
      for (const role of ["athlete", "organizer", "club"] as const) {
        expect(yield* fieldOf(create((yield* makeUser(role)).id, good))).toBe("owner_id")
      }
      yield* create(owner.id, { ...good, name: "a".repeat(100), redirectUris: [] })
    }).pipe(Effect.provide(layer)))

  it.effect("has the fields of all parallel changes", () =>
    Effect.gen(function*() {
      const { change, find } = yield* Applications.Applications
      const { id } = yield* makeClient()
      yield* Effect.all([change(id, { name: "New" }), change(id, { requirePkce: true })], { concurrency: "unbounded" })
      const { name, requirePkce, version } = yield* find(id)
      expect({ name, requirePkce, version }).toStrictEqual({ name: "New", requirePkce: true, version: 3 })
    }).pipe(Effect.provide(layer)))

  it.effect("keeps the fields that a change names as undefined, as JavaScript can", () =>
    Effect.gen(function*() {
      const { change } = yield* Applications.Applications
      const { id } = yield* makeClient()
      const before = yield* change(id, { links: { website: "https://app.example.test/" } })
      const unset = (...names: ReadonlyArray<string>): {} => Object.fromEntries(names.map((name) => [name, undefined]))
      const changed = yield* change(id, {
        ...unset("name", "redirectUris", "requirePkce", "ownerId"),
        links: unset("website", "logo")
      })
      expect(changed).toStrictEqual({ ...before, version: before.version + 1 })
    }).pipe(Effect.provide(layer)))

  it.effect("has a readable name without that of the platform", () =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const { id } = yield* makeClient()
      for (
        const name of ["Club\u202Eekaf", "Club\nAllowed by the police", "\u2066Club", "Club\u0000", "Cӏub", "Startlist"]
      ) {
        expect(yield* Effect.flip(applications.change(id, { name }))).toMatchObject({ field: "name" })
      }
      for (const name of ["Club d’athlétisme 🏃‍♀️", "نادي العدائين", "陸上クラブ"]) {
        expect((yield* applications.change(id, { name })).name).toBe(name)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("is changed also after many conflicts", () => {
    let conflicts = 0
    const stores = Layer.effectContext(Effect.map(Effect.context<Services.Stores>(), (present) => {
      const store = Context.get(present, Application.ApplicationStore)
      return Context.add(present, Application.ApplicationStore, {
        ...store,
        save: (next) => Effect.suspend(() => conflicts-- > 0 ? new Store.Conflict() : store.save(next))
      })
    })).pipe(Layer.provide(Memory.layer))
    return Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const { id } = yield* makeClient()
      conflicts = 50
      expect((yield* applications.change(id, { name: "New" })).name).toBe("New")
      conflicts = 50
      yield* applications.rotateSecret(id)
    }).pipe(Effect.provide(layerOver(stores)))
  })
})
