/** Systematic programs over the stores: each call is interrupted, seen, and raced by others at each of its steps. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { law, type LawGroup } from "../Law.ts"
import { goldenRatio, type Stops } from "./rounds.ts"
import type { WithHandles } from "./handles.ts"
import { type MakeCall, makeDraw, predicted } from "./storeCall.ts"
import {
  again,
  cancel,
  claim,
  enqueue,
  insertApplication,
  insertRegistration,
  insertSubscription,
  purge,
  release,
  removeSubscription,
  revokeGrant,
  saveApplication,
  saveGrant,
  saveRegistration,
  saveSigningSecrets,
  saveSubscription,
  settle
} from "./storeCalls.ts"
import type { Step } from "./storeProgram.ts"
import { run } from "./storePrograms.ts"
import { allParts } from "./storeThemes.ts"

/** Queues an event about each of several objects for each application. */
const enqueueAbout = (objects: number): MakeCall => ({ model: { applications }, now }, by) => {
  const outgoing = [...applications.values()].flatMap((app) =>
    by.outgoing(app, ...by.events(Arr.range(1, objects), now))
  )
  return predicted(Effect.as(by.deliveryQueue.enqueue(outgoing), true), (model) => model.enqueue(outgoing))
}

const several = enqueueAbout(3)
const many = enqueueAbout(120)

/** A call, those that make what it needs, and those that meet it in a record. */
interface Subject {
  readonly make: MakeCall
  readonly needs: ReadonlyArray<MakeCall>
  readonly meets?: ReadonlyArray<MakeCall>
}

const subjects: Readonly<Record<string, Subject>> = {
  "an insertion of an application": { make: insertApplication, needs: [] },
  "a save of an application": {
    make: saveApplication,
    needs: [],
    meets: [saveApplication, saveSigningSecrets, saveGrant]
  },
  "a save of signing secrets": { make: saveSigningSecrets, needs: [], meets: [saveSigningSecrets, saveApplication] },
  "an insertion of a subscription": {
    make: insertSubscription,
    needs: [insertSubscription, several, removeSubscription],
    meets: [insertSubscription, removeSubscription, enqueue]
  },
  "a save of a subscription": {
    make: saveSubscription,
    needs: [insertSubscription],
    meets: [saveSubscription, removeSubscription, enqueue]
  },
  "a removal of a subscription": {
    make: removeSubscription,
    needs: [insertSubscription, several, claim],
    meets: [
      removeSubscription,
      saveSubscription,
      insertSubscription,
      saveGrant,
      saveRegistration,
      enqueue,
      settle,
      release,
      cancel,
      again
    ]
  },
  "a save of a grant": {
    make: saveGrant,
    needs: [insertSubscription],
    meets: [saveGrant, removeSubscription, saveApplication, saveRegistration]
  },
  "a revocation of a grant": { make: revokeGrant, needs: [saveGrant] },
  "an insertion of a registration": { make: insertRegistration, needs: [], meets: [insertRegistration] },
  "a save of a registration": {
    make: saveRegistration,
    needs: [insertSubscription],
    meets: [saveRegistration, removeSubscription, saveGrant]
  },
  "enqueueing": {
    make: enqueue,
    needs: [insertSubscription, several, claim],
    meets: [enqueue, removeSubscription, settle, cancel, claim, saveGrant]
  },
  "a claim": {
    make: claim,
    needs: [insertSubscription, several],
    meets: [claim, settle, release, cancel, enqueue, again]
  },
  "a settlement": {
    make: settle,
    needs: [insertSubscription, several, claim],
    meets: [settle, removeSubscription, claim, release, cancel, enqueue]
  },
  "a release": {
    make: release,
    needs: [insertSubscription, several, claim],
    meets: [release, settle, removeSubscription, claim, cancel]
  },
  "a cancellation": {
    make: cancel,
    needs: [insertSubscription, several, claim],
    meets: [cancel, settle, enqueue, again, removeSubscription]
  },
  "a delivery again": {
    make: again,
    needs: [insertSubscription, several],
    meets: [again, removeSubscription, cancel, settle]
  },
  "a purge": { make: purge, needs: [insertSubscription, several, claim, settle] }
}

/** Calls that change more than a store may write in one batch. */
const large: Readonly<Record<string, Subject>> = {
  "a removal of a subscription with a long queue": {
    make: removeSubscription,
    needs: [insertSubscription, many, claim]
  },
  "a cancellation of a long queue": { make: cancel, needs: [insertSubscription, many] },
  "settling many deliveries": { make: settle, needs: [insertSubscription, many, claim] },
  "enqueueing many events": { make: many, needs: [insertSubscription] },
  "a purge of many deliveries": { make: purge, needs: [insertSubscription, many, claim, settle] }
}

/** Trials of one program. It would become slow with the records of many. */
const trials = 10

interface Limits {
  /** Number of trials that a slow store runs. */
  readonly least: number
  /** Milliseconds after which no new trial begins. */
  readonly millis: number
}

/** Programs of some trials each. Each trial makes what the call needs, and the call at another one of its steps. */
const sweep = <R>(
  withHandles: WithHandles<R>,
  { make, meets = [], needs }: Subject,
  how: Step["how"],
  { least, millis }: Limits
) =>
  withHandles((handles) =>
    Effect.gen(function*() {
      const stops = new Map<MakeCall, Stops<number>>()
      const seed = yield* Random.nextIntBetween(1, 2 ** 30)
      const ends = (yield* Clock.currentTimeMillis) + millis
      let done = 0
      const isOver = Effect.map(Clock.currentTimeMillis, (now) => now > ends && done > least)

      const trial = (): ReadonlyArray<Step> => {
        const draw = makeDraw(seed + done)
        const number = stops.get(make)?.order.length ?? 1
        const others = meets.length === 0
          ? []
          : [{ call: done % meets.length, handle: draw.number(2), seed: seed - done }]
        const usual = { isFind: false, others, are: how === "seen" ? "different" : "similar" } as const
        return [
          ...needs.map((_, place): Step => ({
            ...usual,
            // The simplest choices.
            one: { call: meets.length + place, handle: draw.number(2), seed: 0 },
            how: "alone",
            at: 0,
            waits: 0
          })),
          {
            ...usual,
            one: { call: meets.length + needs.length, handle: draw.number(2), seed: draw.choice(0, seed + done) },
            // Alone once, to know its steps.
            how: stops.has(make) ? how : "alone",
            at: Math.floor(done * goldenRatio % 1 * number) + number * draw.number(97),
            waits: draw.choice(0, 0, 20)
          }
        ]
      }
      let last: ReadonlyArray<Step> = []
      const steps = function*() {
        for (let place = 0; place < trials; place++) {
          last = trial()
          yield* last
          done += 1
        }
      }
      const plan = {
        parts: allParts,
        calls: [...meets, ...needs, make],
        start: "1985-01-01T00:00:00.123Z",
        isThorough: true
      }
      while (!(yield* isOver)) {
        // If the last trial fails without the others, its error is the shorter one.
        yield* Effect.tapErrorCause(
          run({ ...plan, steps: steps() }, handles, stops, isOver),
          () => run({ ...plan, steps: last }, handles, stops, Effect.succeed(false))
        )
      }
    })
  )

/** The laws of systematic programs, over two handles or one. */
export const storeSweeps = <R>(withHandles: WithHandles<R>): LawGroup<R> => {
  const lawOf = (sentence: string, how: Step["how"], limits: Limits) => ([name, subject]: readonly [string, Subject]) =>
    law(`${name} ${sentence}`, () => sweep(withHandles, subject, how, limits))
  const all = Object.entries(subjects)
  const whole = "that is interrupted at any step is done completely or not at all"
  return {
    about: "each step",
    laws: [
      ...all.map(lawOf(whole, "interrupted", { least: 12, millis: 40 })),
      ...all.map(lawOf("that is seen at any step is seen completely or not at all", "seen", { least: 12, millis: 60 })),
      ...all.filter(([, { meets }]) => meets !== undefined).map((one) => {
        const others = one[1].meets?.length ?? 0
        return lawOf("and others at the same time: as in some order", "with others", {
          least: 3 * others,
          millis: 20 * others
        })(one)
      }),
      ...Object.entries(large).map(lawOf(whole, "interrupted", { least: 2, millis: 40 }))
    ]
  }
}
