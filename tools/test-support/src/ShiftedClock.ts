/** Clocks that are wrong. */
import { Clock, type Duration, Effect } from "effect"

/** A clock that is this number of milliseconds ahead. `sleep` replaces its pauses. */
export const shifted = (
  by: number,
  sleep: (duration: Duration.Duration) => Duration.Duration = (duration) => duration
): Clock.Clock => {
  const clock = Clock.make()
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + by,
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + by),
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeNanos: clock.currentTimeNanos,
    sleep: (duration) => clock.sleep(sleep(duration))
  }
}
