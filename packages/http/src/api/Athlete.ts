/** `GET /api/v1/athlete`: the athlete whose token this is (requirements §4.5). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { BearerAccess } from "@startlist/core/Grant"
import type { OAuth } from "@startlist/core/OAuth"
import { advertised, Policy } from "@startlist/core/Policy"
import { UserStore } from "@startlist/core/User"
import type { FailureLimit } from "../FailureLimit.ts"
import { HttpConfig, type Resource } from "../HttpConfig.ts"
import { anyOrigin, type Route } from "../Router.ts"
import type { Request } from "../Http.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"

const path = "/api/v1/athlete"

/** Scopes that allow reading the athlete's profile, the narrowest one first. */
const readingScopes: ReadonlyArray<string> = ["profile:read", "read", "read+write"]

/** The athlete as a protected resource, with the scopes that give access. */
export const resource: Effect.Effect<Resource, never, HttpConfig> = Effect.zipWith(
  HttpConfig,
  Policy,
  ({ authUrl }, policy) => {
    const scopes = advertised(policy)
    return { url: `${authUrl}${path}`, scopes: readingScopes.filter((scope) => scopes.includes(scope)) }
  }
)

const notAthlete = ApiResponse.error(403, "the token's user is not an athlete", [{
  resource: "Athlete",
  field: "role",
  code: "forbidden",
  message: "the token's user is not an athlete"
}])

/** The route of the athlete. */
export const make: Effect.Effect<Route, never, HttpConfig | OAuth | UserStore | FailureLimit> = Effect.gen(function*() {
  const users = yield* UserStore
  const withBearer = yield* Bearer.make
  const athlete = yield* resource

  const show = ({ role, scope, userId }: BearerAccess) => {
    if (role !== "athlete") return Effect.succeed(notAthlete)
    if (!scope.some((name) => readingScopes.includes(name))) {
      return Effect.succeed(Bearer.insufficientScope(athlete, "Athlete", "no granted scope allows reading the athlete"))
    }
    return Effect.map(
      users.find(userId),
      Option.match({
        onNone: () => Bearer.invalidToken(athlete),
        onSome: (user) => ApiResponse.json(200, { id: user.id, first_name: user.firstName, last_name: user.lastName })
      })
    )
  }

  return anyOrigin({
    path,
    methods: { GET: (request: Request) => withBearer(request, athlete, show) },
    refuse: ApiResponse.refuse
  })
})
