/** The themes of random programs: their calls, and the frequency of each. */
import { again, cancel, claim, enqueue, purge, release, settle } from "./queueCalls.ts"
import type { MakeCall, Part } from "./storeCall.ts"
import {
  insertApplication,
  insertRegistration,
  insertSubscription,
  removeSubscription,
  saveApplication,
  saveGrant,
  saveRegistration,
  saveSigningSecrets,
  saveSubscription
} from "./storeCalls.ts"

/**
 * The first calls of a program: a registration, and two subscribed applications, each with a grant. The second one has had
 * another subscription, with later versions and a claimed delivery.
 */
export const beginningOf = (parts: ReadonlyArray<Part>): ReadonlyArray<MakeCall> => {
  const application: ReadonlyArray<readonly [Part, MakeCall]> = [
    ["applications", insertApplication],
    ["subscriptions", insertSubscription],
    ["grants", saveGrant]
  ]
  const all: ReadonlyArray<readonly [Part, MakeCall]> = [
    ["registrations", insertRegistration],
    ...application,
    ...application,
    ["queue", enqueue],
    ["queue", claim],
    ["subscriptions", saveSubscription],
    ["subscriptions", saveSubscription],
    ["subscriptions", removeSubscription],
    ["subscriptions", insertSubscription]
  ]
  return all.flatMap(([part, makeCall]) => parts.includes(part) ? [makeCall] : [])
}

/** Calls of random programs that belong together: each, and its frequency. */
export interface Theme {
  readonly about: string
  /** The parts of a store that it needs. */
  readonly parts: ReadonlyArray<Part>
  readonly calls: ReadonlyArray<readonly [MakeCall, number]>
  /** Milliseconds after which no new program begins, once some have run. */
  readonly millis: number
}

const applications: Theme["calls"] = [
  [insertApplication, 2],
  [saveApplication, 6],
  [saveSigningSecrets, 3]
]
const subscriptions: Theme["calls"] = [
  [insertSubscription, 4],
  [saveSubscription, 4],
  [removeSubscription, 4]
]
const grants: Theme["calls"] = [[saveGrant, 8]]
const registrations: Theme["calls"] = [
  [insertRegistration, 1],
  [saveRegistration, 6]
]
const queue: Theme["calls"] = [
  [enqueue, 9],
  [claim, 12],
  [settle, 9],
  [release, 4],
  [cancel, 3],
  [again, 4],
  [purge, 3]
]

const all: ReadonlyArray<Part> = [
  "applications",
  "subscriptions",
  "outbox",
  "grants",
  "registrations",
  "queue"
]

/** In the order in which one can write a store. */
export const themes: ReadonlyArray<Theme> = [
  { about: "applications", parts: all.slice(0, 1), calls: applications, millis: 300 },
  { about: "subscriptions", parts: all.slice(0, 2), calls: [...subscriptions, [saveApplication, 1]], millis: 300 },
  {
    about: "grants",
    parts: all.slice(0, 4),
    calls: [...grants, [saveApplication, 4], [removeSubscription, 1]],
    millis: 800
  },
  { about: "registrations", parts: all.slice(0, 5), calls: [...registrations, [saveGrant, 1]], millis: 400 },
  { about: "the queue", parts: all, calls: [...queue, ...subscriptions], millis: 1400 },
  {
    about: "everything",
    parts: all,
    calls: [...applications, ...subscriptions, ...grants, ...registrations, ...queue],
    millis: 1100
  }
]
