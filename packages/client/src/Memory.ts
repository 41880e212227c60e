/** Stores in the memory of one process, for tests and first steps. Everything is lost when the process ends. */
import type { StoredEvent } from "./Events.ts"
import type { EventStore } from "./Inbox.ts"
import type { Connection, TokenStore } from "./Tokens.ts"

/** Tokens in memory. */
export const memoryTokens = (): TokenStore => {
  const connections = new Map<string, Connection>()
  return {
    load: async (user) => connections.get(user),
    usersOf: async (id) => [...connections].filter(([, { userId }]) => userId === id).map(([user]) => user),
    save: async (user, next, before) => {
      if (connections.get(user)?.revision !== before) return false
      if (next === undefined) connections.delete(user)
      else connections.set(user, next)
      return true
    }
  }
}

/** Events in memory. */
export const memoryEvents = (): EventStore => {
  const known = new Set<string>()
  const newest = new Map<string, number>()
  const waiting = new Map<string, StoredEvent>()
  let handling = { owner: "", until: 0 }
  let cursor: string | undefined
  return {
    add: async (event) => {
      if (known.has(event.id)) return false
      known.add(event.id)
      waiting.set(event.id, event)
      return true
    },
    lease: async (owner, now, until) => {
      if (handling.owner !== owner && handling.until > now) return false
      handling = { owner, until }
      return true
    },
    waiting: async (limit, skip) => [...waiting.values()].slice(skip, skip + limit),
    newest: async (object) => newest.get(object),
    done: async (ids) => {
      for (const id of ids) {
        const { object = "", sequence = -1 } = waiting.get(id) ?? {}
        if (sequence > (newest.get(object) ?? -1)) newest.set(object, sequence)
        waiting.delete(id)
      }
    },
    cursor: async () => cursor,
    keepCursor: async (next) => {
      cursor = next
    }
  }
}
