/** The developer pages in English. */
import type { Attempt, State } from "@startlist/core/Delivery"
import type { ObjectType } from "@startlist/core/Event"
import type { ValidationFailed } from "@startlist/core/Subscription"
import type { InvalidCallbackUrl } from "@startlist/core/Subscriptions"
import * as Catalogue from "../Catalogue.ts"

const { duration, number } = Catalogue.formats("en-GB")
const percent = Catalogue.percent("en-GB")
const plural = Catalogue.plural("en-GB")
const list = Catalogue.list("en-GB")

const objects: Readonly<Record<ObjectType, string>> = {
  registration: "registration",
  athlete: "athlete",
  organizer: "organizer"
}

/** What a form of these pages has done to an application, and what follows. */
export const notices = {
  saved: (application: string) => `The settings of ${application} are saved.`,
  deleted: (application: string) =>
    `${application} is deleted. Its secrets, its subscription and the access of its users have ended.`,
  secretEnded: (application: string) => `A secret of ${application} has ended. It is no longer accepted.`,
  subscribed: (application: string) => `${application} has a subscription. It is notified of changes from now on.`,
  paused: (application: string) =>
    `The subscription of ${application} is paused. Nothing is sent, and events wait in order until you resume it.`,
  resumed: (application: string) =>
    `The subscription of ${application} is active again. Events that waited are delivered now, in order.`,
  ended: (application: string) =>
    `The subscription of ${application} has ended. Pending events are cancelled. A new subscription gets new events only.`,
  redelivered: (count: string) =>
    count === "0"
      ? "There is no failed event to deliver again."
      : `${number(Number(count))} ${plural(Number(count), "event is", "events are")} delivered again.`
}

/** The texts by page. */
export const developer = {
  applications: {
    title: "Your applications",
    explanation: "An application acts for users who have allowed it, and is notified of changes by webhook.",
    none: "You have not registered an application yet.",
    steps: [
      "Register one below. You get its client_id and its secrets.",
      "Send users to its authorization link, and exchange the code for tokens.",
      "Create its subscription, so that it is notified of changes."
    ],
    guide: "Guide for developers",
    name: "Name",
    clientId: "client_id",
    created: "Registered",
    more: "Older applications"
  },
  sections: {
    overview: "Overview",
    webhook: "Webhook",
    deliveries: "Deliveries",
    settings: "Settings",
    secrets: "Secrets"
  },
  registering: {
    title: "Register an application",
    submit: "Register",
    done: (application: string) => `${application} is registered`,
    outdated:
      "Nothing was registered this time: the form was open for a long time, or was sent before. Check your applications and the form, and send it again."
  },
  settings: {
    title: "Settings",
    problem: "Nothing was saved",
    name: "Name",
    nameHint: "Users see it when they are asked for access.",
    nameWrong: "Enter a name of 1 to 100 characters.",
    redirectUris: "Redirect URIs (optional)",
    redirectUrisHint:
      "One on each line, exactly as your application sends it. Each begins with https://, or with http:// on localhost, 127.0.0.1 or [::1].",
    redirectUrisTooMany: (count: number) => `Register at most 20 redirect URIs. The form has ${number(count)}.`,
    /** The second of two equal lines, and the first one. */
    redirectUrisRepeated: (line: number, first: number) =>
      `Line ${line} of the redirect URIs repeats line ${first}. Remove one of them.`,
    /** The numbers of the lines. */
    redirectUrisWrong: (lines: ReadonlyArray<number>) =>
      `Check ${plural(lines.length, "line", "lines")} ${
        list(lines.map(String))
      } of the redirect URIs: a redirect URI is a URL with https://, or with http:// on localhost, 127.0.0.1 or [::1]. It has no fragment, and no parameter of our answer (code, scope, state, iss, error…).`,
    website: "Website (optional)",
    privacyPolicy: "Privacy policy (optional)",
    logo: "Logo (optional)",
    linkHint: "An https address. Users see it when they are asked for access.",
    linkWrong: "Enter an https address of at most 255 characters, or nothing.",
    requirePkce: "Require PKCE",
    requirePkceHint: "Authorization requests without a code challenge (S256) are refused.",
    save: "Save"
  },
  secret: {
    title: "Client secret",
    label: "client_secret",
    once: "This is the only time that the secret is shown. Copy it now.",
    keep: "Store it on your server, never in a mobile app or a browser. Anyone who has it can act as your application.",
    hidden: "A secret cannot be shown again, only replaced. These are valid:",
    rotate: "Replace the secret…",
    rotateMeans: (hours: number) =>
      `You get a new secret. The current secret stays valid for ${
        duration(hours, "hour")
      }, so that you can replace it without interruption. Older secrets stay valid until their ends.`,
    leaked: "The current secret has leaked: end all present secrets immediately.",
    rotateNow: "Replace the secret",
    rotated: (application: string) => `A new secret for ${application}`,
    formerUntil: (until: string) => `The previous secret is valid until ${until}.`,
    formerEnded: "The previous secret is no longer valid.",
    goOn: (application: string) => `I have copied it: continue to ${application}`
  },
  /** The list of live secrets. */
  secrets: {
    title: "Valid secrets",
    number: "No.",
    ends: "Ends",
    /** In place of the end of the current secret, and of the button that ends it. */
    never: "no end",
    action: "End now",
    current: "This is the current secret: replace it to end it.",
    end: (secret: number) => `End secret ${secret}`,
    full: (count: number) =>
      `${
        number(count)
      } secrets are valid, which is the maximum. Nothing was changed. End one of them first, or end all present secrets with the replacement.`
  },
  webhook: {
    title: "Webhook",
    none: "This application has no webhook subscription.",
    noneThen: (address: string) =>
      `To create one, send POST ${address} with the access token of a platform user. The callback must answer the validation request.`,
    create: "Create the subscription…",
    callbackHint: "An https address of at most 255 characters. The service immediately sends it a validation request.",
    verifyToken: "Verify token",
    verifyTokenHint: "The validation request contains it, so that your callback can recognise your request.",
    subscribe: "Create the subscription",
    problem: "The subscription was not created",
    problems: {
      too_long: "The callback must not be longer than 255 characters.",
      invalid: "The callback must be an https address without user name and fragment.",
      international_name: "The host must be in its ASCII form: münchen.example is xn--mnchen-3ya.example.",
      trailing_dot: "The host must not end with a dot.",
      characters: "The callback has a character that must be encoded with a percent sign, as %7B for {.",
      unreachable: "The callback could not be reached.",
      forbidden_address: "The callback has an address that is not allowed.",
      timeout: "The callback did not answer the validation in time.",
      wrong_status: "The callback must answer the validation with status 200.",
      wrong_content_type: "The callback must answer the validation as application/json.",
      wrong_body: "The callback must answer the validation with a JSON object of exactly hub.challenge.",
      verify_token: "Enter a verify token of 1 to 1000 characters."
    } satisfies Record<InvalidCallbackUrl["reason"] | ValidationFailed["reason"] | "verify_token", string>,
    /** The notice on every page of the application. */
    failing: "The callback does not accept events: the last delivery that ended has failed.",
    failed: "Failed deliveries",
    state: "State",
    active: "active",
    callback: "Callback",
    id: "Subscription",
    since: "Since",
    changed: "Changed",
    test: "Send a test event",
    testMeans: "It is delivered to this subscription only, as a registration event with the status “test”.",
    paused: "paused",
    pause: "Pause",
    pauseMeans: "While the subscription is paused, nothing is sent. Events wait in order.",
    pausedByOperator:
      "The operator of this service has paused the subscription, and only the operator can resume it. Events wait in order. Contact the operator.",
    resume: "Resume",
    end: "End the subscription…",
    endMeans: "Pending events are cancelled. A new subscription gets new events only.",
    endNow: "End the subscription"
  },
  figures: {
    title: "Use",
    /** A link, if there is no subscription. */
    subscribe: "Create a subscription",
    users: "Connected users",
    count: (users: number, isAll: boolean) => isAll ? number(users) : `${number(users)} or more`,
    lastUse: "Last token issued",
    never: "not yet",
    limit: "Limit, set by the operator",
    perMinute: (requests: number) => `${number(requests)} ${requests === 1 ? "request" : "requests"} per minute`,
    failures: "Failed attempts, 24 hours",
    rate: (failed: number, attempts: number) =>
      attempts === 0 ? "no attempt" : `${percent(failed / attempts)} (${number(failed)} of ${number(attempts)})`
  },
  link: {
    title: "Authorization link",
    explanation: "Send users here to ask for access. Replace the value of state with one that you can recognise.",
    pkce:
      "The application requires PKCE. For each user, replace CODE_CHALLENGE with the S256 hash of a new code verifier, and send the verifier with the code (code_verifier).",
    none: "Register a redirect URI to get a link."
  },
  ending: {
    title: "Delete the application",
    explanation: "If nobody uses the application any more, delete it.",
    open: "Delete the application…",
    means:
      "Its secrets, its subscription and all access that users have granted end immediately. This cannot be undone.",
    typeName: (application: string) => `Type ${application} to confirm`,
    wrongName: (application: string) => `Nothing was deleted. Type the name exactly: ${application}`,
    now: "Delete the application",
    suspended:
      "The operator of this service has suspended the application. It gets no tokens and no events. Nothing is lost: events wait. Contact the operator."
  },
  signing: {
    title: "Signing secret",
    explanation:
      "Every event is signed as Standard Webhooks describes (webhook-signature). With this secret you verify that an event comes from this service.",
    label: "Signing secret",
    formerLabel: (until: string) => `Previous secret (still signs until ${until})`,
    open: "Signing secret…",
    reveal: "Show the secret",
    rotate: "Replace the signing secret…",
    rotateMeans: (hours: number) =>
      `A new secret signs from now on. The current secret also signs for ${
        duration(hours, "hour")
      }, and older ones until their ends.`,
    rotateNow: "Replace the signing secret",
    rotated: "The signing secret was replaced."
  },
  deliveries: {
    title: (application: string) => `Deliveries to ${application}`,
    all: "All",
    filter: "Show by state",
    none: "There is no such delivery.",
    id: "Delivery",
    when: "Event time",
    event: "About",
    state: "State",
    attempts: "Attempts",
    outcome: "Outcome",
    /** A count, which ends at a limit. */
    countOf: (count: number, limit: number) => count < limit ? number(count) : `${number(limit)}+`,
    newest: "Newest",
    older: "Older",
    open: (id: number) => `Delivery ${id}`,
    search: "Search",
    text: "Object or webhook-id",
    textHint: "The number of a registration or user, or a webhook-id.",
    since: "Since (UTC)",
    until: "Before (UTC)",
    find: "Search",
    allAgain: "Deliver all failed events again…",
    allAgainMeans:
      "All events whose delivery failed since then are delivered again, in order, with the same webhook-id. Events that were delivered again since, or whose object has a newer event, are left out.",
    failedSince: "Failed since (UTC)",
    again: "Deliver all again",
    wrongInstant: "Enter date and time as in 2026-01-31 08:00.",
    /** Before the state of a redelivery. */
    redelivery: (id: number) => `redelivery ${id}:`
  },
  delivery: {
    title: (id: number, isTest: boolean) => isTest ? `Delivery ${id} (test event)` : `Delivery ${id}`,
    request: "The request as it would be sent now",
    requestMeans:
      "Every attempt sends this body with the same webhook-id and startlist-sequence. Each has the time of its start in webhook-timestamp, and a signature of that.",
    headers: "Headers",
    curl: "The same as a command",
    curlMeans: "The signature is valid for a few minutes.",
    event: "Event",
    webhookId: "webhook-id",
    occurred: "Occurred",
    body: "Payload",
    attempts: "Attempts",
    noAttempts: "No attempt has been made yet.",
    attempt: "No.",
    at: "Time",
    outcome: "Outcome",
    duration: "Duration",
    answer: "Response (excerpt)",
    redeliver: "Deliver again",
    redeliverMeans: "Creates a new delivery of the same event, with the same webhook-id.",
    gone: "The subscription of this delivery has ended. It cannot be delivered again.",
    waits: "Waits because",
    waitsFor: {
      suspended: "the operator of this service has suspended the application",
      pausedByOperator: "the operator of this service has paused the subscription",
      paused: "the subscription is paused",
      due: "a worker has not attempted it yet, or is doing so now"
    },
    /** Before the delivery that is first. */
    waitsForEarlier: "an earlier event of the same object is not delivered yet:",
    /** Before the time of the next attempt. */
    waitsForAttempt: (failed: number) =>
      `${number(failed)} ${plural(failed, "attempt has", "attempts have")} failed. Next attempt:`,
    reload: "Reload",
    setAside:
      "Attempts began, but the service could not record their results. It stopped retrying. Later events are delivered."
  },
  chart: {
    title: "The last 24 hours",
    none: "There was no delivery attempt in the last 24 hours.",
    /** Number of successful and of failed attempts. */
    summary: (delivered: number, failed: number) =>
      `${number(delivered + failed)} ${plural(delivered + failed, "attempt", "attempts")}. Delivered: ${
        number(delivered)
      }, failed: ${number(failed)}. Hours are UTC.`,
    /** A number of attempts: the end of an axis. */
    attempts: (count: number) => `${number(count)} ${plural(count, "attempt", "attempts")}`,
    limit: (deliveries: number) => `Deliveries counted: the newest ${number(deliveries)}.`,
    hour: "Hour",
    delivered: "Delivered",
    failed: "Failed",
    latency: "Response time",
    typical: "Median",
    slowest: "Slowest",
    asTable: "Show as a table"
  },
  /** The choices of the list. */
  filters: {
    pending: "Waiting",
    delivered: "Delivered",
    exhausted: "Failed",
    cancelled: "Cancelled",
    set_aside: "Set aside"
  } satisfies Record<State, string>,
  states: {
    pending: "pending",
    delivered: "delivered",
    exhausted: "failed",
    cancelled: "cancelled",
    set_aside: "set aside"
  } satisfies Record<State, string>,
  outcomes: {
    delivered: "delivered",
    rejected: "refused",
    timeout: "timeout",
    unreachable: "unreachable",
    forbidden_address: "address not allowed"
  } satisfies Record<Attempt["outcome"], string>,
  about: (objectType: ObjectType, id: number) => `${objects[objectType]} ${id}`,
  testEvent: "test event",
  milliseconds: (value: number) => `${number(value)}\u00a0ms`
}
