/** Which of our paths are mounted in this server. */
import * as Context from "effect/Context"

export declare namespace MountedPaths {
  export interface Service {
    /** Whether something answers at this path, as the routes write it. Known when all routes are made. */
    readonly has: (path: string) => boolean
  }
}

/** Asked by pages before they link to another one. By default everything is there. */
export class MountedPaths extends Context.Reference<MountedPaths>()("@startlist/http/MountedPaths", {
  defaultValue: (): MountedPaths.Service => ({ has: () => true })
}) {}
