/** The paths that are mounted in this server. */
import * as Context from "effect/Context"

export declare namespace MountedPaths {
  export interface Service {
    /** Whether this path, in the form of the routes, is mounted. Known when all routes are made. */
    readonly has: (path: string) => boolean
  }
}

/** Pages check it before they link to another page. By default, every path is mounted. */
export class MountedPaths extends Context.Reference<MountedPaths>()("@startlist/http/MountedPaths", {
  defaultValue: (): MountedPaths.Service => ({ has: () => true })
}) {}
