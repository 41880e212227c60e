/** A clock that is moved by hand. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

interface Timer {
  readonly at: number
  readonly wake: () => void
}

/** A clock that is moved by hand. */
export class VirtualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly currentTimeMillis: Effect.Effect<number>
  readonly currentTimeNanos: Effect.Effect<bigint>
  #now: number
  /** The next timer is the last element. Of equal times, the one that was set first is the next. */
  readonly #timers: Array<Timer> = []

  constructor(now: number) {
    this.#now = now
    this.currentTimeMillis = Effect.sync(() => this.#now)
    this.currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())
  }

  unsafeCurrentTimeMillis(): number {
    return this.#now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(Math.round(this.#now * 1_000_000))
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const timer = { at: this.#now + Math.max(0, Duration.toMillis(duration)), wake: () => resume(Effect.void) }
      if (timer.at !== Infinity) this.#insert(timer)
      return Effect.sync(() => this.#remove(timer))
    })
  }

  /** Moves to the next timer and runs it. */
  advance(): boolean {
    const next = this.#timers.pop()
    if (next === undefined) return false
    this.#now = Math.max(this.#now, next.at)
    next.wake()
    return true
  }

  #insert(timer: Timer): void {
    let [low, high] = [0, this.#timers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#timers[middle]?.at ?? 0) > timer.at) low = middle + 1
      else high = middle
    }
    this.#timers.splice(low, 0, timer)
  }

  #remove(timer: Timer): void {
    const index = this.#timers.indexOf(timer)
    if (index >= 0) this.#timers.splice(index, 1)
  }
}
