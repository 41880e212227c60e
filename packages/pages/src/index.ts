/**
 * The pages of Startlist, for people: sign-in, consent, authorised applications, developer pages.
 *
 * Each module is a namespace of its own: `Pages.routes`, `Visitors.Visitors`.
 */
export * as Accounts from "./Accounts.ts"
export * as Look from "./Look.ts"
export * as Pages from "./Pages.ts"
export * as Sessions from "./Sessions.ts"
export * as Visitors from "./Visitors.ts"
