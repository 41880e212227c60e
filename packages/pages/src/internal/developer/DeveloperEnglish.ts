/** The developer pages in English. */
import type { DeveloperMessages } from "./DeveloperMessages.ts"

const objects = { registration: "registration", athlete: "athlete", organizer: "organizer" } as const

export const developer: DeveloperMessages = {
  applications: {
    title: "Your applications",
    explanation: "An application acts for users who have allowed it, and hears of changes through its webhook.",
    none: "You have not registered an application yet.",
    name: "Name",
    clientId: "client_id",
    created: "Registered",
    more: "Older applications"
  },
  registering: {
    title: "Register an application",
    submit: "Register",
    done: (application) => `${application} is registered`,
    repeated:
      "An application was registered since this form was opened, perhaps by sending it twice. Templates at the list first. If you want another one, send the form again."
  },
  settings: {
    title: "Settings",
    problem: "Nothing was saved yet",
    name: "Name",
    nameHint: "Users see it when they are asked for access.",
    nameWrong: "Enter a name of 1 to 100 characters.",
    redirectUris: "Redirect URIs",
    redirectUrisHint:
      "One on each line, exactly as your application sends it. Each begins with https://, or with http:// on localhost, 127.0.0.1 or [::1].",
    redirectUrisWrong:
      "Check the redirect URIs: each must begin with https://, or with http:// on localhost, 127.0.0.1 or [::1], without a fragment. At most 20, none twice.",
    requirePkce: "Require PKCE",
    requirePkceHint: "Authorization requests without a code challenge (S256) are refused.",
    save: "Save",
    saved: "The settings are saved."
  },
  secret: {
    title: "Client secret",
    label: "client_secret",
    once: "This is the only time that the secret is shown. Copy it now.",
    keep: "Keep it on your server, never in an app or a browser. Whoever has it can act as your application.",
    one: "One secret is in use. It cannot be shown again, only replaced.",
    two: (until) => `Two secrets are accepted: the present one, and the former one until ${until}.`,
    rotate: "Replace the secret…",
    rotateMeans: (hours) =>
      `You get a new secret. The present one is accepted beside it for ${hours} hours, so that you can change over without interruption. One from before that ends at once.`,
    leaked: "The present secret has leaked: end it at once.",
    rotateNow: "Replace the secret",
    rotated: (application) => `A new secret for ${application}`,
    formerUntil: (until) => `The former secret is accepted until ${until}.`,
    formerEnded: "The former secret is no longer accepted.",
    goOn: (application) => `I have copied it: go on to ${application}`
  },
  webhook: {
    title: "Webhook",
    none: "This application has no webhook subscription.",
    noneThen: (address) =>
      `It makes one with POST ${address} and the access token of a platform user. Its callback must answer the challenge.`,
    state: "State",
    active: "active",
    callback: "Callback",
    id: "Subscription",
    since: "Since",
    changed: "Changed",
    deliveries: "All deliveries",
    test: "Send a test event",
    testMeans: "Goes to this subscription only. It is a registration event with the status “test”."
  },
  signing: {
    title: "Signing secret",
    explanation:
      "Every event is signed as Standard Webhooks describes (webhook-signature). With this secret you check that an event comes from here.",
    label: "Signing secret",
    formerLabel: (until) => `Former one, signs too until ${until}`,
    open: "Signing secret…",
    reveal: "Show the secret",
    rotate: "Replace the signing secret…",
    rotateMeans: (hours) => `A new secret signs from now on. For ${hours} hours the present one signs too.`,
    rotateNow: "Replace the signing secret",
    rotated: "There is a new signing secret."
  },
  deliveries: {
    title: (application) => `Deliveries to ${application}`,
    all: "All",
    filter: "Show by state",
    none: "There is no such delivery.",
    id: "Delivery",
    when: "Event of",
    event: "About",
    state: "State",
    attempts: "Attempts",
    last: "Last outcome",
    newest: "Newest",
    older: "Older",
    open: (id) => `Delivery ${id}`
  },
  delivery: {
    title: (id) => `Delivery ${id}`,
    event: "Event",
    webhookId: "webhook-id",
    occurred: "Occurred",
    next: "Next attempt",
    body: "What is sent",
    attempts: "Attempts",
    noAttempts: "No attempt has been made yet.",
    attempt: "No.",
    at: "At",
    outcome: "Outcome",
    status: "Status",
    duration: "Took",
    answer: "Answer (excerpt)",
    redeliver: "Deliver again",
    redeliverMeans: "Makes a new delivery of the same event, with the same webhook-id.",
    gone: "The subscription that this went to has ended: it cannot be delivered again.",
    queued: "This delivery is queued. Load the page again in a moment to see what came of it.",
    reload: "Load again",
    setAside:
      "Attempts began, but the service could not record how they ended. It stopped trying. The later events went on."
  },
  chart: {
    title: "The last 24 hours",
    none: "There was no attempt to deliver in the last 24 hours.",
    summary: (delivered, failed) => `Attempts delivered: ${delivered}, failed: ${failed}. Hours are UTC.`,
    limit: (deliveries) => `At most the newest ${deliveries} deliveries are counted.`,
    hour: "Hour",
    delivered: "Delivered",
    failed: "Failed",
    latency: "Time until the answer",
    typical: "Median",
    slowest: "Slowest",
    asTable: "The same as a table"
  },
  states: {
    pending: "pending",
    delivered: "delivered",
    exhausted: "failed",
    cancelled: "cancelled",
    set_aside: "set aside"
  },
  outcomes: {
    delivered: "delivered",
    rejected: "not answered with 200",
    timeout: "no answer in time",
    unreachable: "not reachable",
    forbidden_address: "address not allowed"
  },
  about: (objectType, id) => `${objects[objectType]} ${id}`,
  testEvent: "test event",
  milliseconds: (value) => `${value} ms`
}
