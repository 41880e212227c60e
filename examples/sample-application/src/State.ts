/**
 * What the application remembers. Here in memory and for one person; a real one keeps tokens for each of its users in
 * its database, encrypted.
 */
import { randomBytes } from "node:crypto"
import type { Event } from "@startlist/client"

/** In which role somebody is asked for access. */
export type Role = "athlete" | "platform"

/** What somebody has granted: the latest tokens, never older ones. */
export interface Connection {
  readonly role: Role
  readonly accessToken: string
  readonly refreshToken: string
  readonly scope: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly refreshed: number
  /** Who it is; known of athletes only. */
  readonly person: Person | undefined
}

export interface Person {
  readonly id: number
  readonly first_name: string
  readonly last_name: string
}

/** As the platform shows it. */
export interface Subscription {
  readonly id: number
  readonly callback_url: string
  readonly created_at: string
  readonly updated_at: string
}

/** An event, as it was handled. */
export interface Received {
  readonly at: Date
  readonly event: Event
}

/** A part of the page. */
export type Section = Role | "webhook" | "office" | "events"

/** What came of the last thing that was asked for. */
export interface Notice {
  /** Where it was asked for. */
  readonly at: Section
  readonly kind: "good" | "bad"
  readonly text: string
  /** An answer, to be looked at. */
  readonly answer?: string
}

export interface State {
  readonly connections: Map<Role, Connection>
  /** How connections came to their end. */
  readonly farewells: Map<Role, string>
  subscription: Subscription | undefined
  /** What the platform must repeat when it validates the callback: so the callback knows that it was meant. */
  readonly verifyToken: string
  /** Newest first. */
  readonly received: Array<Received>
  notice: Notice | undefined
}

export const make = (): State => ({
  connections: new Map(),
  farewells: new Map(),
  subscription: undefined,
  verifyToken: randomBytes(24).toString("base64url"),
  received: [],
  notice: undefined
})
