/** The laws of imports (law 16) on any stores with an `ImportStore`. The suite is a function of their layer. */
import { ApplicationId, ApplicationStore } from "@startlist/core/Application"
import * as Applications from "@startlist/core/Applications"
import * as Audit from "@startlist/core/Audit"
import { ImportedHashes } from "@startlist/core/Client"
import * as Import from "@startlist/core/Import"
import { ImportStore } from "@startlist/core/ImportStore"
import { OAuth } from "@startlist/core/OAuth"
import { PersonalData } from "@startlist/core/PersonalData"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import { SubscriptionId, SubscriptionStore } from "@startlist/core/Subscription"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { UserId, UserStore } from "@startlist/core/User"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { count, same, tagOf } from "./internal/expecting.ts"
import { number, storeLaws } from "./internal/importStoreLaws.ts"
import * as Suite from "./Suite.ts"
import * as ScriptedCallbacks from "./ScriptedCallbacks.ts"
import * as TestSecrets from "./TestSecrets.ts"

/** The stores of these laws. */
export type Stores = Services.Stores | ImportStore

/** Everyone exists, with the role of the last digit. Only the role matters here. */
const users = Layer.succeed(UserStore, {
  find: (id) =>
    Effect.succeedSome({
      id,
      role: id % 2 === 0 ? "platform" as const : "athlete" as const,
      email: `user${id}@example.test`,
      firstName: "",
      lastName: ""
    })
})

/** Stands for a slow hash: `$test$` and the secret. */
const hashes = Layer.succeed(ImportedHashes, {
  problem: (hash) => hash.startsWith("$test$") ? Option.none() : Option.some("is unknown"),
  matches: (hash, { secret }) => Effect.as(Effect.sleep(1), hash === `$test$${Redacted.value(secret)}`)
})

/** The services over the stores of the law. */
const services = Layer.unwrapEffect(
  Effect.map(Effect.context<Stores>(), (stores) =>
    Layer.merge(Services.layer, Import.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(
        users,
        hashes,
        Audit.none,
        ScriptedCallbacks.layer,
        TestSecrets.layer("imports"),
        Layer.succeedContext(stores)
      ))
    ))
)

/** A former server with an application, whose user has tokens. `texts` are in clear. */
const makeFormer = Effect.gen(function*() {
  const importing = yield* Import.Import
  const id = yield* number
  const clientId = ApplicationId.make(id)
  const userId = UserId.make(2 * (yield* number) + 1)
  const owner = UserId.make(2 * (yield* number))
  const now = yield* DateTime.now
  const granted = DateTime.subtract(now, { days: 1 })
  const { hash: hashOf } = yield* Secrets
  const texts = { secret: `secret of ${id}`, refresh: `refresh of ${id}`, access: `access of ${id}` }
  const application = {
    kind: "application",
    client_id: clientId,
    name: "Former",
    owner_id: owner,
    redirect_uris: [],
    secret_hash: `$test$${texts.secret}`,
    created_at: granted
  } as const
  const grant = {
    kind: "grant",
    client_id: clientId,
    user_id: userId,
    scope: "profile:read",
    granted_at: granted,
    refresh_token: { hash: hashOf(texts.refresh), issued_at: granted },
    access_tokens: [{ hash: hashOf(texts.access), created_at: granted, expires_at: DateTime.add(now, { hours: 1 }) }]
  } as const
  const outcomes = [yield* importing.add(application), yield* importing.add(grant)]
  same(outcomes, ["added", "added"], "the first import")
  const client = { id: clientId, secret: Redacted.make(texts.secret) }
  const oauth = yield* OAuth
  return {
    add: importing.add,
    application,
    client,
    grant,
    hashOf,
    now,
    userId,
    bearer: tagOf(oauth.authenticate(Redacted.make(texts.access))),
    refresh: tagOf(oauth.refresh({ client, token: Redacted.make(texts.refresh) }))
  }
})

type Former = Effect.Effect.Success<typeof makeFormer>
type Provided = Layer.Layer.Success<typeof services>

const ofServices = <E>(
  name: string,
  check: (former: Former) => Effect.Effect<unknown, E, Provided>
): Suite.Law<Stores> => Suite.law(name, () => Effect.provide(Effect.flatMap(makeFormer, check), services))

const subscriptionOf = (clientId: ApplicationId, id: number, createdAt: DateTime.Utc) => ({
  kind: "subscription" as const,
  id: SubscriptionId.make(id),
  client_id: clientId,
  callback_url: "https://app.example.test/hook",
  created_at: createdAt
})

const success = "success"
const refused = ["@startlist/core/InvalidGrant", "@startlist/core/InvalidToken"]

/** Whatever ends access ends it for imported tokens, too. */
const ends = (name: string, end: (former: Former) => Effect.Effect<unknown, unknown, Provided>): Suite.Law<Stores> =>
  ofServices(
    `no imported token is good after ${name}, also not after another import`,
    (former) =>
      Effect.gen(function*() {
        same(yield* former.bearer, success, "the access token before")
        yield* end(former)
        yield* Effect.ignore(former.add(former.application))
        yield* Effect.ignore(former.add(former.grant))
        const [refresh, bearer] = [yield* former.refresh, yield* former.bearer]
        same(bearer, refused[1], "the access token")
        same(
          refresh === refused[0] || refresh === "@startlist/core/InvalidClient",
          true,
          `the refresh token: ${refresh}`
        )
      })
  )

const serviceLaws: ReadonlyArray<Suite.Law<Stores>> = [
  ofServices(
    "an imported secret authenticates, and is stored as ours from then on",
    ({ client }) =>
      Effect.gen(function*() {
        const applications = yield* Applications.Applications
        const store = yield* ApplicationStore
        const wrong = { ...client, secret: Redacted.make("wrong") }
        same(yield* tagOf(applications.authenticate(wrong)), "@startlist/core/InvalidClient", "a wrong secret")
        const both = yield* Effect.all([applications.authenticate(client), applications.authenticate(client)], {
          concurrency: 2
        })
        const { hash } = yield* Secrets
        const found = Option.getOrThrow(yield* store.find(client.id))
        same(found.secrets.map((secret) => secret.hash), [hash(Redacted.value(client.secret))], "the stored hash")
        same(both, [found, found], "the application of each request")
        same(yield* tagOf(applications.authenticate(wrong)), "@startlist/core/InvalidClient", "a wrong secret later")
      })
  ),
  ofServices(
    "of parallel uses of an imported refresh token, with imports between them, one succeeds",
    (former) =>
      Effect.gen(function*() {
        const tries = [
          former.refresh,
          former.add(former.grant),
          former.refresh,
          former.add(former.grant),
          former.refresh
        ]
        const answers = yield* Effect.all([...tries, ...tries], { concurrency: "unbounded" })
        same(count(answers, success), 1, "answered")
        same(yield* former.add(former.grant), "unchanged")
        same(yield* former.refresh, refused[0], "later")
        same(yield* former.bearer, success, "the access token, which has not expired")
      })
  ),
  ofServices(
    "importing twice is importing once; a later export counts until the tokens are used here",
    (former) =>
      Effect.gen(function*() {
        const { add, application, grant, hashOf, now } = former
        same([yield* add(application), yield* add(grant)], ["unchanged", "unchanged"])
        const later = { ...grant, refresh_token: { hash: hashOf(`later of ${grant.client_id}`), issued_at: now } }
        same([yield* add(later), yield* add(later), yield* add(grant)], ["updated", "unchanged", "unchanged"])
        same(yield* former.refresh, refused[0], "the token of the earlier export")
        const { refresh } = yield* OAuth
        const { accessToken } = yield* refresh({
          client: former.client,
          token: Redacted.make(`later of ${grant.client_id}`)
        })
        const latest = {
          ...grant,
          refresh_token: { hash: hashOf("latest"), issued_at: DateTime.add(now, { hours: 1 }) }
        }
        same([yield* add(latest), yield* add({ ...grant, revoked: true })], ["unchanged", "unchanged"])
        same(yield* tagOf(Effect.flatMap(OAuth, (oauth) => oauth.authenticate(accessToken))), success, "the new token")
      })
  ),
  ofServices(
    "what names a refused application is refused: its identifier is that of another one here",
    ({ add, application, grant, now }) =>
      Effect.gen(function*() {
        const clientId = application.client_id
        const ofAnother = { ...grant, user_id: UserId.make(grant.user_id + 2) }
        const subscription = subscriptionOf(clientId, yield* number, now)
        for (const record of [{ ...application, created_at: now }, ofAnother, subscription]) {
          same(yield* tagOf(add(record)), "@startlist/core/ImportRefused", record.kind)
        }
        const { findByApplication } = yield* SubscriptionStore
        same(yield* findByApplication(clientId), Option.none(), "the subscription of the other application")
        same([yield* add(application), yield* add(ofAnother)], ["unchanged", "added"], "the right application")
      })
  ),
  ofServices(
    "a subscription is imported once, and refused if another application has its identifier",
    ({ add, application, now }) =>
      Effect.gen(function*() {
        const other = ApplicationId.make(yield* number)
        same(yield* add({ ...application, client_id: other }), "added", "another application")
        const subscription = subscriptionOf(application.client_id, yield* number, now)
        same([yield* add(subscription), yield* add(subscription)], ["added", "unchanged"])
        same(yield* tagOf(add({ ...subscription, client_id: other })), "@startlist/core/ImportRefused")
        yield* Effect.flatMap(Subscriptions, ({ end }) => end(application.client_id, Option.none()))
        same(yield* add(subscription), "unchanged", "after its end")
      })
  ),
  ends(
    "a revocation by the user",
    ({ client, userId }) => Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(client.id, userId))
  ),
  ends(
    "a revocation by the application, with the token itself",
    ({ client, grant }) =>
      Effect.flatMap(OAuth, (oauth) => oauth.revoke(client, Redacted.make(`refresh of ${grant.client_id}`)))
  ),
  ends(
    "a revocation of all grants",
    ({ client }) => Effect.flatMap(Applications.Applications, (applications) => applications.revokeAll(client.id))
  ),
  ends(
    "a suspension",
    ({ client }) => Effect.flatMap(Applications.Applications, (applications) => applications.suspend(client.id))
  ),
  ends("an erasure", ({ userId }) => Effect.flatMap(PersonalData, (personalData) => personalData.erase(userId))),
  ends("a revocation at the former server", ({ add, grant }) => add({ ...grant, revoked: true }))
]

/** All laws of imports. Each is an Effect. */
export const laws: ReadonlyArray<Suite.LawGroup<Stores>> = [{ about: "imports", laws: [...storeLaws, ...serviceLaws] }]

/** The laws as tests of these stores. */
export const suite = <E>(name: string, stores: Layer.Layer<Stores, E>, options: Suite.Options = {}): Suite.Suite =>
  Suite.make<Stores, E>(name, stores, laws, options)
