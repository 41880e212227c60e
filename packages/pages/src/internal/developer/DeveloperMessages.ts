/** The texts of the developer pages. */
import type { InvalidCallbackUrl } from "@startlist/core/Subscriptions"
import type { ValidationFailed } from "@startlist/core/Subscription"
import type { Attempt, State } from "@startlist/core/Delivery"
import type { ObjectType } from "@startlist/core/Event"

/** The texts by page. */
export interface DeveloperMessages {
  readonly applications: {
    readonly title: string
    readonly explanation: string
    readonly none: string
    readonly name: string
    readonly clientId: string
    readonly created: string
    readonly more: string
  }
  readonly registering: {
    readonly title: string
    readonly submit: string
    readonly done: (application: string) => string
    readonly outdated: string
  }
  readonly settings: {
    readonly title: string
    readonly problem: string
    readonly name: string
    readonly nameHint: string
    readonly nameWrong: string
    readonly redirectUris: string
    readonly redirectUrisHint: string
    readonly redirectUrisTooMany: (count: number) => string
    /** The second of two equal lines, and the first one. */
    readonly redirectUrisRepeated: (line: number, first: number) => string
    /** The numbers of the lines. */
    readonly redirectUrisWrong: (lines: ReadonlyArray<number>) => string
    readonly website: string
    readonly privacyPolicy: string
    readonly logo: string
    readonly linkHint: string
    readonly linkWrong: string
    readonly requirePkce: string
    readonly requirePkceHint: string
    readonly save: string
    readonly saved: string
  }
  readonly secret: {
    readonly title: string
    readonly label: string
    readonly once: string
    readonly keep: string
    readonly hidden: string
    readonly rotate: string
    readonly rotateMeans: (hours: number) => string
    readonly leaked: string
    readonly rotateNow: string
    readonly rotated: (application: string) => string
    readonly formerUntil: (until: string) => string
    readonly formerEnded: string
    readonly goOn: (application: string) => string
  }
  /** The list of live secrets. */
  readonly secrets: {
    readonly title: string
    readonly number: string
    readonly ends: string
    readonly action: string
    /** In place of the end of the current secret, and of the button that ends it. */
    readonly never: string
    readonly current: string
    readonly end: (number: number) => string
    readonly full: (count: number) => string
  }
  readonly webhook: {
    readonly title: string
    readonly none: string
    readonly noneThen: (address: string) => string
    readonly create: string
    readonly callbackHint: string
    readonly verifyToken: string
    readonly verifyTokenHint: string
    readonly subscribe: string
    readonly problem: string
    readonly problems: Readonly<
      Record<InvalidCallbackUrl["reason"] | ValidationFailed["reason"] | "verify_token", string>
    >
    /** The notice on every page of the application. */
    readonly failing: string
    readonly failed: string
    readonly state: string
    readonly active: string
    readonly callback: string
    readonly id: string
    readonly since: string
    readonly changed: string
    readonly deliveries: string
    readonly test: string
    readonly testMeans: string
    readonly paused: string
    readonly pause: string
    readonly pauseMeans: string
    readonly resume: string
    readonly end: string
    readonly endMeans: string
    readonly endNow: string
  }
  readonly figures: {
    readonly title: string
    readonly users: string
    readonly count: (users: number, isAll: boolean) => string
    readonly lastUse: string
    readonly never: string
    readonly failures: string
    readonly rate: (failed: number, attempts: number) => string
  }
  readonly link: {
    readonly title: string
    readonly explanation: string
    readonly none: string
  }
  readonly ending: {
    readonly title: string
    readonly explanation: string
    readonly open: string
    readonly means: string
    readonly now: string
    readonly suspended: string
  }
  readonly signing: {
    readonly title: string
    readonly explanation: string
    readonly label: string
    readonly formerLabel: (until: string) => string
    readonly open: string
    readonly reveal: string
    readonly rotate: string
    readonly rotateMeans: (hours: number) => string
    readonly rotateNow: string
    readonly rotated: string
  }
  readonly deliveries: {
    readonly title: (application: string) => string
    readonly all: string
    readonly filter: string
    readonly none: string
    readonly id: string
    readonly when: string
    readonly event: string
    readonly state: string
    readonly attempts: string
    readonly last: string
    readonly newest: string
    readonly older: string
    readonly open: (id: number) => string
    readonly search: string
    readonly text: string
    readonly textHint: string
    readonly since: string
    readonly until: string
    readonly instantHint: string
    readonly find: string
    readonly allAgain: string
    readonly allAgainMeans: string
    readonly failedSince: string
    readonly again: string
    readonly wrongInstant: string
    readonly redelivered: (count: number) => string
    /** Before the state of a redelivery. */
    readonly redelivery: (id: number) => string
  }
  readonly delivery: {
    readonly request: string
    readonly headers: string
    readonly curl: string
    readonly curlMeans: string
    readonly title: (id: number) => string
    readonly event: string
    readonly webhookId: string
    readonly occurred: string
    readonly next: string
    readonly body: string
    readonly attempts: string
    readonly noAttempts: string
    readonly attempt: string
    readonly at: string
    readonly outcome: string
    readonly status: string
    readonly duration: string
    readonly answer: string
    readonly redeliver: string
    readonly redeliverMeans: string
    readonly gone: string
    readonly queued: string
    readonly reload: string
    readonly setAside: string
  }
  readonly chart: {
    readonly title: string
    readonly none: string
    /** Number of successful and of failed attempts. */
    readonly summary: (delivered: number, failed: number) => string
    readonly limit: (deliveries: number) => string
    readonly hour: string
    readonly delivered: string
    readonly failed: string
    readonly latency: string
    readonly typical: string
    readonly slowest: string
    readonly asTable: string
  }
  readonly states: Readonly<Record<State, string>>
  readonly outcomes: Readonly<Record<Attempt["outcome"], string>>
  readonly about: (objectType: ObjectType, id: number) => string
  readonly testEvent: string
  readonly milliseconds: (value: number) => string
}
