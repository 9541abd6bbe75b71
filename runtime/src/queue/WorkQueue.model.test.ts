/**
 * Compares the queue with a simple model: one array of records, sorted for each take. Random interleavings include all operations of a
 * controller. After every burst, the visible states must be equal.
 */
import { expect } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as FastCheck from "fast-check"
import * as WorkQueue from "./WorkQueue.ts"

type Step =
  | { readonly do: "add"; readonly key: string; readonly priority: number }
  | { readonly do: "event"; readonly key: string; readonly priority: number; readonly version: number }
  | { readonly do: "addAfter"; readonly key: string; readonly priority: number; readonly delay: number }
  | { readonly do: "take" }
  | { readonly do: "interrupt"; readonly index: number }
  | { readonly do: "done"; readonly index: number; readonly own: ReadonlyArray<number> }
  | { readonly do: "fail"; readonly index: number; readonly own: ReadonlyArray<number>; readonly delay: number }
  | { readonly do: "later"; readonly index: number; readonly own: ReadonlyArray<number>; readonly delay: number }
  | { readonly do: "putBack"; readonly index: number }
  | { readonly do: "sleep"; readonly millis: number }

type Seen = Pick<
  WorkQueue.Item<number>,
  "key" | "triggers" | "dropped" | "droppedNews" | "priority" | "enqueuedAt" | "addedAt"
>

interface Want {
  readonly key: string
  place: "ready" | "delayed" | "undecided"
  /** Whether the delay is a back-off. */
  holds: boolean
  /** The triggers that arrived during the run and may be echoes of its writes. */
  undecided: Array<{ readonly trigger: number; readonly priority: number; readonly version: number }>
  triggers: Array<number>
  priority: number
  order: number
  addedAt: number
  time: number
}

/** The expected behavior of the queue, regardless of cost. */
class Model {
  now = 0
  wants: Array<Want> = []
  running: Array<Seen> = []
  /** The triggers that are echoes. */
  private echoes = new Set<number>([-2])
  /** The writes of the runs of a key. An idle key has no writes. */
  private own = new Map<string, Set<number>>()
  /** The keys whose echoes have joined a run since the last news or the end of a delay. */
  private echoed = new Set<string>()
  private count = 0

  order(): number {
    return ++this.count
  }

  find(key: string): Want | undefined {
    return this.wants.find((want) => want.key === key)
  }

  isRunning(key: string): boolean {
    return this.running.some((item) => item.key === key)
  }

  private enter(key: string, trigger: number, priority: number, place: Want["place"], time: number): void {
    const order = this.order()
    const addedAt = this.now
    this.wants.push({ key, place, holds: false, undecided: [], triggers: [trigger], priority, order, addedAt, time })
  }

  private ready(want: Want, time: number): void {
    want.place = "ready"
    want.order = this.order()
    want.time = time
  }

  add(key: string, trigger: number, priority: number): void {
    const want = this.find(key)
    if (want === undefined) {
      this.echoed.delete(key)
      this.enter(key, trigger, priority, "ready", this.now)
      return
    }
    want.triggers.push(trigger)
    this.promote(want, priority)
  }

  private promote(want: Want, priority: number): void {
    this.echoed.delete(want.key)
    if (want.place !== "ready") this.ready(want, this.now)
    else if (priority > want.priority) want.order = this.order()
    want.priority = Math.max(want.priority, priority)
  }

  private wrote(key: string, version: number): boolean {
    return this.own.get(key)?.has(version) ?? false
  }

  /** The event of a write. Only the end of a run shows which run made it. */
  event(key: string, trigger: number, priority: number, version: number): void {
    const isOwn = this.wrote(key, version)
    if (isOwn) this.echoes.add(trigger)
    if (!isOwn && !this.isRunning(key)) {
      this.add(key, trigger, priority)
      return
    }
    const want = this.find(key)
    if (want !== undefined) want.triggers.push(trigger)
    else this.enter(key, trigger, priority, "undecided", this.now)
    if (this.isRunning(key)) this.find(key)?.undecided.push({ trigger, priority, version })
    else this.echo(want)
  }

  /** All versions are of one object. */
  private echo(want: Want | undefined): void {
    if (want === undefined || want.place === "undecided" || this.echoed.has(want.key)) return
    this.echoed.add(want.key)
    if (want.place === "delayed" && !want.holds) this.ready(want, this.now)
  }

  addAfter(key: string, delay: number, trigger: number, priority: number, holds: boolean): void {
    if (delay <= 0) {
      this.add(key, trigger, priority)
      return
    }
    const want = this.find(key)
    if (want === undefined) {
      this.enter(key, trigger, priority, "delayed", this.now + delay)
      for (const entered of this.wants.slice(-1)) entered.holds = holds
      return
    }
    want.triggers.push(trigger)
    if (want.place === "ready" && priority > want.priority) want.order = this.order()
    want.priority = want.place === "undecided" ? priority : Math.max(want.priority, priority)
    if (want.place === "ready") return
    want.holds = holds || (want.place === "delayed" && want.holds)
    if (want.place === "undecided" || this.now + delay < want.time) want.time = this.now + delay
    if (want.place === "undecided") want.order = this.order()
    want.place = "delayed"
  }

  take(): Seen | undefined {
    const [want] = this.wants
      .filter((want) => want.place === "ready" && !this.isRunning(want.key))
      .sort((left, right) => right.priority - left.priority || left.order - right.order)
    if (want === undefined) return undefined
    this.wants = this.wants.filter((other) => other !== want)
    const { key, priority, addedAt, time: enqueuedAt } = want
    const triggers = want.triggers.slice(-10)
    const dropped = want.triggers.slice(0, -10)
    const droppedNews = dropped.filter((trigger) => !this.echoes.has(trigger)).length
    const item = { key, priority, addedAt, enqueuedAt, triggers, dropped: dropped.length, droppedNews }
    this.running.push(item)
    return item
  }

  done(key: string, own: ReadonlyArray<number>): void {
    this.running = this.running.filter((item) => item.key !== key)
    const want = this.find(key)
    if (want === undefined) {
      this.own.delete(key)
      this.echoed.delete(key)
      return
    }
    this.own.set(key, new Set([...(this.own.get(key) ?? []), ...own]))
    for (const { priority, trigger, version } of want.undecided) {
      if (this.wrote(key, version)) {
        this.echoes.add(trigger)
        this.echo(want)
      } else this.promote(want, priority)
    }
    want.undecided = []
    if (want.place === "undecided") this.ready(want, this.now)
  }

  /** The model does not record the dropped triggers. It takes them from the item, whose counts it has checked before. */
  putBack(item: Seen): void {
    this.running = this.running.filter((other) => other.key !== item.key)
    const { key, addedAt, enqueuedAt: time } = item
    const since = this.find(key)
    this.wants = this.wants.filter((want) => want !== since)
    const dropped = Array.from({ length: item.dropped }, (_, index) => (index < item.droppedNews ? -1 : -2))
    const triggers = [...dropped, ...item.triggers, ...(since?.triggers ?? [])]
    const priority = Math.max(item.priority, since?.priority ?? item.priority)
    const order = -this.order()
    this.wants.push({ key, place: "ready", holds: false, undecided: [], triggers, priority, order, addedAt, time })
  }

  sleep(millis: number): void {
    this.now += millis
    const due = this.wants.filter((want) => want.place === "delayed" && want.time <= this.now)
    for (const want of due.sort((left, right) => left.time - right.time || left.order - right.order)) {
      this.echoed.delete(want.key)
      this.ready(want, want.time)
    }
  }
}

const key = FastCheck.constantFrom("a", "b", "c", "d", "e")
const priority = FastCheck.constantFrom(0, 0, 0, WorkQueue.low, 5)
const delay = FastCheck.constantFrom(0, 1, 5, 5, 20, 100)
const index = FastCheck.nat(7)
/** Few versions, so that the events of own writes arrive before the end of their run, after it, and much later. */
const version = FastCheck.nat(5)
const own = FastCheck.array(version, { maxLength: 3 })
const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  { weight: 5, arbitrary: FastCheck.record({ do: FastCheck.constant("add" as const), key, priority }) },
  { weight: 6, arbitrary: FastCheck.record({ do: FastCheck.constant("event" as const), key, priority, version }) },
  { weight: 3, arbitrary: FastCheck.record({ do: FastCheck.constant("addAfter" as const), key, priority, delay }) },
  { weight: 5, arbitrary: FastCheck.record({ do: FastCheck.constant("take" as const) }) },
  { weight: 1, arbitrary: FastCheck.record({ do: FastCheck.constant("interrupt" as const), index }) },
  { weight: 4, arbitrary: FastCheck.record({ do: FastCheck.constant("done" as const), index, own }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("fail" as const), index, own, delay }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("later" as const), index, own, delay }) },
  { weight: 1, arbitrary: FastCheck.record({ do: FastCheck.constant("putBack" as const), index }) },
  {
    weight: 3,
    arbitrary: FastCheck.record({ do: FastCheck.constant("sleep" as const), millis: FastCheck.constantFrom(1, 4, 30) })
  }
)

/** The steps of a burst run without a pause, like the events of a chunk. Between bursts, all fibers run. */
const bursts = FastCheck.array(FastCheck.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 30, size: "max" })

/** Runs the bursts on the queue and on the model. Fails if they differ. */
const play = (steps: ReadonlyArray<ReadonlyArray<Step>>, time: VirtualTime.VirtualTime) =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<number>()
    const model = new Model()
    let waiters: Array<Fiber.Fiber<Option.Option<WorkQueue.Item<number>>>> = []
    const interrupted: typeof waiters = []
    let running: Array<WorkQueue.Item<number>> = []
    let triggers = 0
    let delivered = 0

    const pick = <A>(from: ReadonlyArray<A>, at: number): A | undefined => from[at % Math.max(1, from.length)]

    const end = (item: WorkQueue.Item<number>): void => {
      running = running.filter((other) => other !== item)
      delivered += item.triggers.length + item.dropped
    }

    const perform = (one: Step) =>
      Effect.gen(function* () {
        switch (one.do) {
          case "add": {
            queue.add(one.key, ++triggers, { priority: one.priority })
            model.add(one.key, triggers, one.priority)
            return
          }
          case "event": {
            const version = { uid: "u", resourceVersion: String(one.version) }
            queue.add(one.key, ++triggers, { priority: one.priority, version })
            model.event(one.key, triggers, one.priority, one.version)
            return
          }
          case "addAfter": {
            queue.addAfter(one.key, one.delay, ++triggers, { priority: one.priority })
            model.addAfter(one.key, one.delay, triggers, one.priority, false)
            return
          }
          case "take": {
            waiters.push(yield* Effect.forkChild(queue.take))
            return
          }
          case "interrupt": {
            const waiter = pick(waiters, one.index)
            if (waiter === undefined) return
            // Does not wait for the finalizers of the waiter.
            waiter.interruptUnsafe()
            waiters = waiters.filter((other) => other !== waiter)
            interrupted.push(waiter)
            return
          }
          case "done":
          case "later":
          case "fail": {
            const item = pick(running, one.index)
            if (item === undefined) return
            end(item)
            if (one.do !== "done") {
              const holdsEchoes = one.do === "fail"
              queue.addAfter(item.key, one.delay, ++triggers, { priority: item.priority, holdsEchoes })
              model.addAfter(item.key, one.delay, triggers, item.priority, holdsEchoes)
            }
            queue.done(item.key, new Map(one.own.map((each) => [String(each), "u"])))
            model.done(item.key, one.own)
            return
          }
          case "putBack": {
            const item = pick(running, one.index)
            if (item === undefined) return
            running = running.filter((other) => other !== item)
            queue.putBack(item)
            model.putBack(item)
            return
          }
          case "sleep": {
            yield* compare
            yield* time.jump(one.millis)
            model.sleep(one.millis)
            yield* compare
          }
        }
      })

    /** Runs the waiters, and checks that each got the item of the model, in the order of the requests. */
    const compare = Effect.gen(function* () {
      yield* time.pass(0)
      const still: typeof waiters = []
      for (const waiter of waiters) {
        const expected = model.take()
        const exit = waiter.pollUnsafe()
        if (expected === undefined) {
          expect(exit).toBeUndefined()
          still.push(waiter)
          continue
        }
        const item = exit?._tag === "Success" ? Option.getOrUndefined(exit.value) : undefined
        expect<Seen | undefined>(item).toEqual(expected)
        if (item === undefined) continue
        expect(running.map((other) => other.key)).not.toContain(item.key)
        running.push(item)
      }
      waiters = still
      const wants = (place: Want["place"]) => model.wants.filter((want) => want.place === place).length
      expect(queue.snapshot()).toMatchObject({
        ready: wants("ready"),
        delayed: wants("delayed"),
        processing: running.length
      })
    })

    for (const burst of steps) {
      for (const one of burst) yield* perform(one)
      yield* compare
    }

    // Every run succeeds, and workers continue until the queue is empty. Then every trigger was part of a run.
    while (running.length > 0 || model.wants.length > 0) {
      for (const item of [...running]) {
        end(item)
        queue.done(item.key)
        model.done(item.key, [])
      }
      yield* perform({ do: "sleep", millis: 100 })
      while (waiters.length < 5) waiters.push(yield* Effect.forkChild(queue.take))
      yield* compare
    }
    expect(delivered).toBe(triggers)
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 0 })
    for (const name of ["a", "b", "c", "d", "e"]) expect(queue.position(name)).toEqual({ _tag: "Absent" })
    for (const waiter of interrupted) expect(Exit.hasInterrupts(yield* Fiber.await(waiter))).toBe(true)
    yield* Fiber.interruptAll(waiters)
  })

live(
  "WorkQueue agrees with a naive model for any sequence: no key runs twice at once, no trigger is lost, and the queue ends empty",
  () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.context<never>()
      const property = FastCheck.asyncProperty(bursts, (steps) => {
        const time = VirtualTime.make()
        return Effect.runPromiseWith(runtime)(play(steps, time).pipe(Effect.scoped, time.within))
      })
      yield* Effect.promise(() => FastCheck.assert(property, { numRuns: 400, seed: Seed.current() }))
    }),
  60_000
)
