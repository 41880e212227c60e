/**
 * What the application remembers. Here in memory and for one person; a real one keeps tokens for each of its users in
 * its database, encrypted.
 */
import { randomBytes } from "node:crypto"
import type { Event } from "@startlist/client"

/** The role in which a user is asked for access. */
export type Role = "athlete" | "platform"

/** The latest tokens of a user, never older ones. */
export interface Connection {
  readonly role: Role
  readonly accessToken: string
  readonly refreshToken: string
  readonly scope: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly refreshed: number
  /** The user, which is known of athletes only. */
  readonly person: Person | undefined
}

export interface Person {
  readonly id: number
  readonly first_name: string
  readonly last_name: string
}

/** The subscription, as the platform answers it. */
export interface Subscription {
  readonly id: number
  readonly callback_url: string
  readonly created_at: string
  readonly updated_at: string
}

/** A processed event. */
export interface Received {
  readonly at: Date
  readonly event: Event
}

/** A part of the page. */
export type Section = Role | "webhook" | "office" | "events"

/** Result of the last action. */
export interface Notice {
  /** The part of the page with the action. */
  readonly at: Section
  readonly kind: "good" | "bad"
  readonly text: string
  /** An answer that the page shows. */
  readonly answer?: string
}

export interface State {
  readonly connections: Map<Role, Connection>
  /** Reasons why connections ended. */
  readonly farewells: Map<Role, string>
  subscription: Subscription | undefined
  /** The verify token, by which the callback recognises its own subscription. */
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
