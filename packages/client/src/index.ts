/**
 * For applications that use a Startlist service: asks users for consent, refreshes their tokens, receives events. It
 * runs on Node and every runtime with `fetch` and Web Crypto, and has no dependencies.
 */
export { type Authorization, type Client, createClient, type Options, type Wanted } from "./Client.ts"
export { AccessDenied, ConnectAgain, Refused, TryLater } from "./internal/service.ts"
export {
  type AccessRevoked,
  type Event,
  type RegistrationChanged,
  type StoredEvent,
  type UnknownEvent
} from "./Events.ts"
export { type EventStore, type Inbox, type InboxOptions } from "./Inbox.ts"
export { memoryEvents, memoryTokens } from "./Memory.ts"
export { type Connected, type Connection, type Tokens, type TokenStore } from "./Tokens.ts"
