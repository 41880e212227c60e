/** Arguments that cannot be changed. A store that writes into them fails. */
import * as Predicate from "effect/Predicate"

const isPlain = (value: unknown): value is object =>
  Array.isArray(value) || Predicate.isRecord(value) && Object.getPrototypeOf(value) === Object.prototype

/** Freezes records and lists, and those in them. */
const freeze = (value: unknown): void => {
  if (!isPlain(value) || Object.isFrozen(value)) return
  Object.freeze(value)
  Object.values(value).forEach(freeze)
}

/** The same service, whose methods get frozen arguments. */
export const frozen = <Service extends object>(service: Service): Service =>
  new Proxy(service, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        freeze(parameters)
        return Reflect.apply(member, target, parameters)
      }
    }
  })
