/** History entry: an operation as its caller observed it. `result` is "ok", or the tag or reason of the refusal. */
export type HistoryEntry =
  & { readonly at: number; readonly result: string }
  & (
    | { readonly _tag: "Consented"; readonly code: number; readonly application: number; readonly user: number }
    | {
      readonly _tag: "Redeemed"
      readonly client: number
      readonly code: number
      readonly key: string
      readonly fits: boolean
      readonly access: number
      readonly refresh: number
    }
    | {
      readonly _tag: "Refreshed"
      readonly client: number
      readonly token: number
      readonly key: string
      readonly isOwner: boolean
      readonly access: number
      readonly refresh: number
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
    | {
      readonly _tag: "Subscribed"
      readonly application: number
      readonly isProven: boolean
      readonly subscription: number
    }
    | { readonly _tag: "Unsubscribed"; readonly application: number }
    | { readonly _tag: "StateSet"; readonly application: number; readonly state: "active" | "suspended" }
    | { readonly _tag: "AllRevoked"; readonly application: number }
    | { readonly _tag: "PauseSet"; readonly application: number; readonly paused: boolean }
    | { readonly _tag: "RegistrationCreated"; readonly registration: number; readonly parties: ReadonlyArray<number> }
    | {
      readonly _tag: "StatusChanged"
      readonly registration: number
      readonly status: string
      readonly event: string
    }
    | { readonly _tag: "Redelivered"; readonly subscription: number; readonly event: string }
    | {
      readonly _tag: "Purged"
      /** What went, by subscription: places in the list. */
      readonly deliveries: Readonly<Record<number, ReadonlyArray<number>>>
    }
  )
