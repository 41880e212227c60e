/** A small database in memory, in place of yours: JSON texts by key, and atomic steps. */
import { Store } from "@startlist/core"
import { Effect, Schema } from "effect"

/** Documents by their keys, such as `registrations/7`, oldest first. */
export type Database = Map<string, string>

type Key = ReadonlyArray<number>

/** Records of one kind. Their methods are called inside a step. */
export interface Collection<A> {
  readonly get: (...key: Key) => A | undefined
  readonly put: (value: A, ...key: Key) => void
  /** Returns whether the record existed. */
  readonly remove: (...key: Key) => boolean
  /** The first part of each key, oldest first. */
  readonly keys: () => ReadonlyArray<number>
  /** Oldest first. */
  readonly all: () => ReadonlyArray<A>
  /** The largest number that was given, or 0. */
  readonly lastId: () => number
  /** Returns a new number, which no record had before, also no removed one. */
  readonly nextId: () => number
}

export interface Documents {
  /** Does all of a step or nothing of it. The step is synchronous, so no other one runs between. */
  readonly atomically: <A>(step: () => A) => Effect.Effect<A, Store.StoreError>
  readonly collection: <A, I>(name: string, schema: Schema.Schema<A, I>) => Collection<A>
}

export const open = (database: Database): Documents => {
  let undo: Array<() => void> = []

  const write = (key: string, text: string | undefined): void => {
    const before = database.get(key)
    undo.push(() => before === undefined ? database.delete(key) : database.set(key, before))
    if (text === undefined) database.delete(key)
    else database.set(key, text)
  }

  return {
    atomically: (step) =>
      Effect.try({
        try: () => {
          undo = []
          try {
            return step()
          } catch (cause) {
            for (const restore of undo.reverse()) restore()
            throw cause
          }
        },
        catch: (cause) => new Store.StoreError({ cause })
      }),
    collection: (name, schema) => {
      const json = Schema.parseJson(schema)
      const [read, toText] = [Schema.decodeSync(json), Schema.encodeSync(json)]
      const path = (key: Key) => `${name}/${key.join("/")}`
      const lastId = () => Number(database.get(`last of ${name}`) ?? 0)
      const own = () => [...database].filter(([key]) => key.startsWith(`${name}/`))
      return {
        get: (...key) => {
          const text = database.get(path(key))
          return text === undefined ? undefined : read(text)
        },
        put: (value, ...key) => write(path(key), toText(value)),
        remove: (...key) => {
          const isThere = database.has(path(key))
          write(path(key), undefined)
          return isThere
        },
        keys: () => own().map(([key]) => Number(key.split("/")[1])),
        all: () => own().map(([, text]) => read(text)),
        lastId,
        nextId: () => {
          const id = lastId() + 1
          write(`last of ${name}`, String(id))
          return id
        }
      }
    }
  }
}
