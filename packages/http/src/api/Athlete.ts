/** `GET /api/v1/athlete`: the athlete whose token this is (requirements §4.5). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { BearerAccess } from "@startlist/core/Access"
import type { OAuth } from "@startlist/core/OAuth"
import { UserStore } from "@startlist/core/User"
import type { FailureLimit } from "../FailureLimit.ts"
import { anyOrigin, type Route } from "../Router.ts"
import type { Request } from "../Http.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"

/** Scopes that allow reading the athlete's profile. */
const readingScopes: ReadonlyArray<string> = ["read", "read+write", "profile:read"]

const notAthlete = ApiResponse.error(403, "the token's user is not an athlete", [{
  resource: "Athlete",
  field: "role",
  code: "forbidden",
  message: "the token's user is not an athlete"
}])

/** The route of the athlete. */
export const make: Effect.Effect<Route, never, OAuth | UserStore | FailureLimit> = Effect.gen(function*() {
  const users = yield* UserStore
  const withBearer = yield* Bearer.make

  const show = ({ role, scope, userId }: BearerAccess) => {
    if (role !== "athlete") return Effect.succeed(notAthlete)
    if (!scope.some((name) => readingScopes.includes(name))) {
      return Effect.succeed(Bearer.insufficientScope("Athlete", "no granted scope allows reading the athlete"))
    }
    return Effect.map(
      users.find(userId),
      Option.match({
        onNone: () => Bearer.invalidToken,
        onSome: (user) => ApiResponse.json(200, { id: user.id, first_name: user.firstName, last_name: user.lastName })
      })
    )
  }

  return anyOrigin({
    path: "/api/v1/athlete",
    methods: { GET: (request: Request) => withBearer(request, show) },
    refuse: ApiResponse.refuse
  })
})
