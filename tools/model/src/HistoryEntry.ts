/** History of a program or simulation: the operations as their callers observed them. */
import type * as Data from "effect/Data"

/** A request to the system. Applications, users and codes are numbered in the order of their appearance. */
export type Request = Data.TaggedEnum<{
  Consented: { readonly application: number; readonly user: number }
  Redeemed: { readonly client: number; readonly code: number; readonly key: string; readonly fits: boolean }
  Refreshed: { readonly client: number; readonly token: number; readonly key: string; readonly isOwner: boolean }
  Revoked: {
    readonly client: number
    readonly by: "access" | "refresh"
    readonly token: number
    readonly isOwner: boolean
  }
  /** `event` is the one that the application gets. */
  RevokedByUser: { readonly application: number; readonly user: number; readonly event: string | null }
  Called: { readonly token: number }
  Erased: { readonly user: number }
  Subscribed: { readonly application: number; readonly isProven: boolean }
  Unsubscribed: { readonly application: number }
  StateSet: { readonly application: number; readonly state: "active" | "suspended" }
  AllRevoked: { readonly application: number }
  Ended: { readonly application: number }
  PauseSet: { readonly application: number; readonly paused: boolean }
  RegistrationCreated: { readonly parties: ReadonlyArray<number> }
  StatusChanged: { readonly registration: number; readonly status: string; readonly event: string }
  Redelivered: { readonly subscription: number; readonly event: string }
  /** The deliveries that were removed, by subscription: places in the list. */
  Purged: { readonly deliveries: Readonly<Record<number, ReadonlyArray<number>>> }
}>

/** History entry: an operation as its caller observed it. */
export type HistoryEntry = Request & {
  /** When it began, in seconds, by the clock of the node that performed it. */
  readonly at: number
  /** "ok", or the tag or reason of the refusal. */
  readonly result: string
  /** The code, pair of tokens, subscription or registration that the answer names; -1 if there is none. */
  readonly made: number
}
