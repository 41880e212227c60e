/** Live users, applications, tokens and sessions, so that hostile requests get past the first check. */
import { makeReceiver } from "@startlist/test-support/Receiver"
import { Effect, Exit, Scope } from "effect"
import { Browser, theForm } from "@startlist/test-support/Browser"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  obtainTokens,
  openAs,
  postForm,
  redirectUri,
  subscribe
} from "@startlist/test-support/Consent"
import {
  changeRegistration,
  type Client,
  createApplication,
  createRegistration,
  createUser,
  operate,
  type Person
} from "@startlist/test-support/Operator"
import type { MeasuredService } from "./MeasuredService.ts"
import type { Values } from "./Requests.ts"

export interface World {
  /** Present values of the placeholders in requests. */
  readonly values: () => Values
  /** Replaces everything that requests have revoked, replaced or ended. */
  readonly renew: () => Promise<void>
  /** All values that the log must not contain. */
  readonly secrets: ReadonlySet<string>
  readonly close: () => void
}

interface Session {
  readonly browser: Browser
  readonly session: string
  readonly csrf: string
}

/** A session of this user, or of nobody, and the token of its forms. */
const openSession = async (service: MeasuredService, user?: Person): Promise<Session> => {
  const browser = new Browser()
  const page = user === undefined
    ? await browser.open(`${service.url}/login`)
    : await openAs(browser, `${service.url}/account/applications`, user)
  const form = theForm(page, ({ action, fields }) => fields.has("csrf") && /\/log(?:in|out)$/.test(action))
  const cookies = await browser.jar.getCookies(service.url)
  const session = cookies.find(({ key }) => key === "startlist_session")?.value ?? ""
  return { browser, session, csrf: form.fields.get("csrf") ?? "" }
}

const isSignedIn = async (service: MeasuredService, { session }: Session): Promise<boolean> => {
  const headers = { cookie: `startlist_session=${session}` }
  const page = await fetch(`${service.url}/account/applications`, { headers, redirect: "manual" })
  await page.arrayBuffer()
  return page.status === 200
}

/** Whether a user can sign in. Hostile requests have the operator token, so one of them may have erased or disabled anybody. */
const isActive = async (service: MeasuredService, { id }: Person): Promise<boolean> => {
  const { body, status } = await operate(service, "GET", `/users/${id}`)
  return status === 200 && body.disabled === false
}

/** Makes a world on a service that allows callbacks on loopback. */
export const makeWorld = async (service: MeasuredService): Promise<World> => {
  const secrets = new Set<string>([service.operatorToken, "the verify token"])
  const scope = Effect.runSync(Scope.make())
  const callback = await Effect.runPromise(Scope.extend(makeReceiver, scope))
  const platform = await createUser(service, "platform")
  const organizer = await createUser(service, "organizer")
  const club = await createUser(service, "club")
  const newAthlete = async () => {
    const athlete = await createUser(service, "athlete")
    const parties = { athlete_id: athlete.id, platform_user_id: platform.id }
    return { athlete, registration: await createRegistration(service, parties) }
  }
  let { athlete, registration } = await newAthlete()
  /** Consents use the sessions of requests, because sign-ins of an account are limited. */
  let sessions = {
    nobody: await openSession(service),
    athlete: await openSession(service, athlete),
    spare: await openSession(service, athlete)
  }
  /** An application with its own owner, because the subscriptions of one owner are limited. */
  const newAccess = async () => {
    const owner = await createUser(service, "platform")
    const session = await openSession(service, owner)
    const client = await createApplication(service, owner, [redirectUri])
    const tokens = await obtainTokens(service, client, athlete, {}, sessions.spare.browser)
    const platformTokens = await obtainTokens(service, client, owner, {}, session.browser)
    const subscribed = await subscribe(service, platformTokens.access_token, callback.url)
    if (subscribed.status !== 201) throw new Error(`no subscription: ${await subscribed.text()}`)
    await changeRegistration(service, registration, { registration_status: `changed ${client.client_id}` })
    const { body } = await operate(service, "GET", `/deliveries?client_id=${client.client_id}`)
    return { owner, session, client, tokens, platformTokens, delivery: Number(body.deliveries[0].id) }
  }

  const isGood = async ({ client, platformTokens, tokens }: Awaited<ReturnType<typeof newAccess>>) => {
    const form = {
      client_id: String(client.client_id),
      client_secret: client.client_secret,
      token: tokens.refresh_token
    }
    const refresh = await (await postForm(`${service.url}/oauth/introspect`, form)).json()
    const authorization = `Bearer ${platformTokens.access_token}`
    const own = await fetch(`${service.url}/api/v1/webhook_subscription`, { headers: { authorization } })
    await own.arrayBuffer()
    return refresh.active === true && own.status === 200 && await athleteStatus(service, tokens.access_token) === 200
  }

  const newCode = async (client: Client): Promise<string> =>
    (await consent(authorizeUrl(service, client, { state: "a state" }), athlete, "allow", sessions.spare.browser))
      .searchParams.get("code") ?? ""

  let renewals = 0
  /** A user for password guesses, so that limits on sign-in do not affect other users. */
  let guest = await createUser(service, "athlete")
  let access = await newAccess()
  let spare = await newAccess()
  let code = await newCode(access.client)

  const basicOf = ({ client_id, client_secret }: Client) =>
    Buffer.from(`${client_id}:${client_secret}`).toString("base64")

  const values = (): Values => ({
    access: access.tokens.access_token,
    refresh: access.tokens.refresh_token,
    platformAccess: access.platformTokens.access_token,
    code,
    clientId: access.client.client_id,
    clientSecret: access.client.client_secret,
    basic: basicOf(access.client),
    spareAccess: spare.tokens.access_token,
    sparePlatformAccess: spare.platformTokens.access_token,
    spareClientId: spare.client.client_id,
    spareClientSecret: spare.client.client_secret,
    spareSession: sessions.spare.session,
    spareCsrf: sessions.spare.csrf,
    session: sessions.athlete.session,
    csrf: sessions.athlete.csrf,
    platformSession: access.session.session,
    platformCsrf: access.session.csrf,
    nobodySession: sessions.nobody.session,
    nobodyCsrf: sessions.nobody.csrf,
    operator: service.operatorToken,
    email: guest.email,
    password: guest.password,
    redirectUri,
    callback: callback.url,
    newEmail: `new-${access.client.client_id}-${renewals}@example.test`,
    userId: athlete.id,
    // Renewed each time: it may be disabled or erased.
    spareUserId: guest.id,
    organizerId: organizer.id,
    organizerPassword: organizer.password,
    clubId: club.id,
    platformId: access.owner.id,
    registrationId: registration,
    deliveryId: access.delivery
  })

  const open = new Set([
    "clientId",
    "spareClientId",
    "email",
    "redirectUri",
    "callback",
    "userId",
    "spareUserId",
    "newEmail"
  ])
  const keep = () => {
    for (const [name, value] of Object.entries(values())) {
      if (typeof value === "string" && !open.has(name)) secrets.add(value)
    }
  }
  keep()
  return {
    values,
    secrets,
    renew: async () => {
      renewals++
      guest = await createUser(service, "athlete")
      if (!await isActive(service, athlete)) ({ athlete, registration } = await newAthlete())
      const renewed = async (session: Session, user: Person): Promise<Session> =>
        await isSignedIn(service, session) ? session : await openSession(service, user)
      sessions = {
        nobody: sessions.nobody,
        athlete: await renewed(sessions.athlete, athlete),
        spare: await renewed(sessions.spare, athlete)
      }
      if (!await isActive(service, access.owner) || !await isGood(access)) access = await newAccess()
      if (!await isGood(spare)) spare = await newAccess()
      code = await newCode(access.client).catch(async () => {
        // Its settings were changed, to ask for PKCE for example.
        access = await newAccess()
        return newCode(access.client)
      })
      access = { ...access, session: await renewed(access.session, access.owner) }
      keep()
    },
    close: () => Effect.runFork(Scope.close(scope, Exit.void))
  }
}
