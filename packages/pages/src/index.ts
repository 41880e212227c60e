/**
 * The pages of Startlist: sign-in, consent, authorised applications, developer pages.
 *
 * Each module is a namespace: `Pages.routes`, `Authentication.Authentication`.
 */
export * as Accounts from "./Accounts.ts"
export * as Templates from "./Templates.ts"
export * as Pages from "./Pages.ts"
export * as PlatformColor from "./PlatformColor.ts"
export * as Sessions from "./Sessions.ts"
export * as SignInLimit from "./SignInLimit.ts"
export * as Authentication from "./Authentication.ts"
