/** Actions of the buttons. Each shows a notice of its result, also of an exception. */
import type { Event } from "@startlist/client"
import type { Notice, Role, Section, State } from "./State.ts"
import type { RaceOffice } from "./RaceOffice.ts"
import { Refused, type Startlist } from "./Startlist.ts"

type Fields = Pick<URLSearchParams, "get">

/** Returns the notice, if the page does not show the result anyway. */
export type Action = (fields: Fields) => Promise<Pick<Notice, "text" | "answer"> | undefined>

export interface Context {
  readonly state: State
  readonly startlist: Startlist
  readonly office: RaceOffice | undefined
}

export const roleOf = (fields: Fields): Role => fields.get("role") === "platform" ? "platform" : "athlete"

/** The part of the page with the button. */
export const sectionOf = (path: string, fields: Fields): Section =>
  path === "/office" ? "office" : /^\/(?:un)?subscribe$/.test(path) ? "webhook" : roleOf(fields)

const indented = (json: string): string => {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}

const describe = (error: unknown): string =>
  error instanceof Refused && error.status !== undefined
    ? `The platform answered with ${error.status}. ${error.message}`
    : error instanceof Error
    ? error.message
    : String(error)

/** Runs an action and shows its result. */
export const attempt = async (state: State, at: Section, action: () => ReturnType<Action>): Promise<void> => {
  try {
    const said = await action()
    state.notice = said && { kind: "good", at, ...said }
  } catch (error) {
    state.notice = { kind: "bad", at, text: describe(error) }
  }
}

/** Actions by the paths of their forms. */
export const make = ({ office, startlist, state }: Context): Readonly<Record<string, Action>> => {
  const connection = (role: Role) => {
    const found = state.connections.get(role)
    if (found === undefined) throw new Refused("There is no connection any more. Connect again.")
    return found
  }

  return {
    "/athlete": async () => {
      const { status, text } = await startlist.athlete(connection("athlete"))
      if (status !== 200) throw new Refused(`GET /api/v1/athlete was refused: ${text}`, status)
      return { text: "The platform answered GET /api/v1/athlete with 200:", answer: indented(text) }
    },

    "/refresh": async (fields) => {
      const next = await startlist.refresh(connection(roleOf(fields)))
      state.connections.set(next.role, next)
      return { text: "There are new tokens. The refresh token that was used is worth nothing any more." }
    },

    "/revoke": async (fields) => {
      const given = connection(roleOf(fields))
      await startlist.revoke(given)
      await sayFarewell({ startlist, state }, given.role, "Race Planner gave the access back.")
      return undefined
    },

    "/subscribe": async () => {
      state.subscription = await startlist.subscribe(connection("platform"), state.verifyToken)
      return { text: "The platform called the callback, got its challenge back, and subscribed Race Planner." }
    },

    "/unsubscribe": async () => {
      await startlist.unsubscribe(connection("platform"))
      state.subscription = undefined
      return { text: "The subscription has ended. No event will come any more." }
    },

    "/office": async (fields) => {
      if (office === undefined) throw new Refused("There is no race office outside the demonstration.")
      const changed = await office.decide(fields.get("decision") === "refuse" ? "refuse" : "accept")
      return {
        text: changed
          ? "The race office has decided."
          : "The race office had decided so before: nothing changed, no event."
      }
    }
  }
}

/** Tries the tokens of an ended connection once more, to show that they are invalid, and forgets them. */
const sayFarewell = async ({ startlist, state }: Pick<Context, "startlist" | "state">, role: Role, reason: string) => {
  const given = state.connections.get(role)
  if (given === undefined) return
  state.connections.delete(role)
  const { status } = await startlist.athlete(given).catch(() => ({ status: 0 }))
  const proof = status === 401 ? "The access token was tried once more and refused with 401." : ""
  state.farewells.set(role, `${reason} ${proof} Its tokens are deleted.`)
}

/** Processes an event after its acknowledgement (requirements §5.9, §6.3). */
export const follow = async (context: Pick<Context, "startlist" | "state">, event: Event): Promise<void> => {
  if (event.type !== "access.revoked") return
  for (const role of await context.startlist.forget(event)) {
    await sayFarewell(context, role, `The ${role} has revoked the access, as the platform said in an event.`)
  }
}
