/**
 * Startlist's outgoing HTTP: validation and delivery, address guard, signatures. Each module is a namespace:
 * `Dispatcher.layerWith`, `AddressGuard.parseBlock`.
 */
export * as AddressGuard from "./AddressGuard.ts"
export * as CallbackUrl from "./CallbackUrl.ts"
export * as Dispatcher from "./Dispatcher.ts"
export * as Resolver from "./Resolver.ts"
export * as Signature from "./Signature.ts"
export * as WebCallbacks from "./WebCallbacks.ts"
