/** History of a program or simulation: the operations as their callers observed them. */
/** A request to the system. Applications, users and codes are numbered in the order of their appearance. */
export type Request =
  | { readonly _tag: "Consented"; readonly application: number; readonly user: number }
  | {
    readonly _tag: "Redeemed"
    readonly client: number
    readonly code: number
    readonly key: string
    readonly fits: boolean
  }
  | {
    readonly _tag: "Refreshed"
    readonly client: number
    readonly token: number
    readonly key: string
    readonly isOwner: boolean
  }
  | {
    readonly _tag: "Revoked"
    readonly client: number
    readonly by: "access" | "refresh"
    readonly token: number
    readonly isOwner: boolean
  }
  | {
    readonly _tag: "RevokedByUser"
    readonly application: number
    readonly user: number
    /** The event that the application gets. */
    readonly event: string | null
  }
  | { readonly _tag: "Called"; readonly token: number }
  | { readonly _tag: "Erased"; readonly user: number }
  | { readonly _tag: "Subscribed"; readonly application: number; readonly isProven: boolean }
  | { readonly _tag: "Unsubscribed"; readonly application: number }
  | { readonly _tag: "StateSet"; readonly application: number; readonly state: "active" | "suspended" }
  | { readonly _tag: "AllRevoked"; readonly application: number }
  | { readonly _tag: "Ended"; readonly application: number }
  | { readonly _tag: "PauseSet"; readonly application: number; readonly paused: boolean }
  | { readonly _tag: "RegistrationCreated"; readonly parties: ReadonlyArray<number> }
  | {
    readonly _tag: "StatusChanged"
    readonly registration: number
    readonly status: string
    readonly event: string
  }
  | { readonly _tag: "Redelivered"; readonly subscription: number; readonly event: string }
  | {
    readonly _tag: "Purged"
    /** The deliveries that were removed, by subscription: places in the list. */
    readonly deliveries: Readonly<Record<number, ReadonlyArray<number>>>
  }

/** History entry: an operation as its caller observed it. */
export type HistoryEntry = Request & {
  /** When it began, in seconds, by the clock of the node that performed it. */
  readonly at: number
  /** "ok", or the tag or reason of the refusal. */
  readonly result: string
  /** The code, pair of tokens, subscription or registration that the answer names; -1 if there is none. */
  readonly made: number
}
