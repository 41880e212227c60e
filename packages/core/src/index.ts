/**
 * The core of Startlist: what is granted, told and remembered, as data, pure rules, ports and services.
 *
 * Each module is a namespace of its own: `Grant.rotate`, `OAuth.layer`, `Memory.layer`.
 */
export * as Application from "./Application.ts"
export * as Applications from "./Applications.ts"
export * as Authorization from "./Authorization.ts"
export * as Callbacks from "./Callbacks.ts"
export * as Deliveries from "./Deliveries.ts"
export * as Delivery from "./Delivery.ts"
export * as Event from "./Event.ts"
export * as Grant from "./Grant.ts"
export * as GrantStore from "./GrantStore.ts"
export * as Memory from "./Memory.ts"
export * as OAuth from "./OAuth.ts"
export * as Policy from "./Policy.ts"
export * as Registration from "./Registration.ts"
export * as Registrations from "./Registrations.ts"
export * as Retention from "./Retention.ts"
export * as Secrets from "./Secrets.ts"
export * as Services from "./Services.ts"
export * as Store from "./Store.ts"
export * as Subscription from "./Subscription.ts"
export * as Subscriptions from "./Subscriptions.ts"
export * as Token from "./Token.ts"
export * as User from "./User.ts"
export * as Worker from "./Worker.ts"
