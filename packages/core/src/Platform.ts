/** The platform as its users know it. The pages, the metadata and the check of application names use it. */
import * as Context from "effect/Context"
import * as Option from "effect/Option"

/** An image file. */
export interface Logo {
  /** Its media type: `image/svg+xml`. */
  readonly type: string
  readonly content: Uint8Array
}

export declare namespace Platform {
  export interface Service {
    /** No application can use it in its own name. */
    readonly name: string
    /** Shown beside the name, at the height of a line, and as the icon of the pages. */
    readonly logo: Option.Option<Logo>
    /** Colour of buttons and links: `#rrggbb`. White text on it must have a contrast of 4.5:1 (WCAG AA). */
    readonly color: Option.Option<string>
    /** Where users get help: an `https` or `mailto` address. */
    readonly support: Option.Option<string>
    /** The privacy policy of the platform: an `https` address. */
    readonly privacyPolicy: Option.Option<string>
    /** The guide for developers of applications: an `https` address. Default: `/docs`, if it is served. */
    readonly guide: Option.Option<string>
  }
}

/** A platform with this name only. */
export const named = (name: string): Platform.Service => ({
  name,
  logo: Option.none(),
  color: Option.none(),
  support: Option.none(),
  privacyPolicy: Option.none(),
  guide: Option.none()
})

/**
 * The platform of this installation. By default, its name is Startlist.
 *
 * @example
 * ```ts
 * import { Platform } from "@startlist/core"
 * import { Layer, Option } from "effect"
 *
 * export const layer = Layer.succeed(Platform.Platform, {
 *   ...Platform.named("Club Run"),
 *   support: Option.some("https://club.example/help")
 * })
 * ```
 */
export class Platform extends Context.Reference<Platform>()("@startlist/core/Platform", {
  defaultValue: (): Platform.Service => named("Startlist")
}) {}
