/** `/why` of a running manager, for every outcome of an object. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Result from "@homeostat/runtime/controller/Result"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Effect, Result as EffectResult, Schedule } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import * as Asked from "./Asked.ts"

/** Each Chore names the outcome of its reconcile. */
const asInstructed = (chore: Chore.Chore): Effect.Effect<Result.Result, string | TerminalError> =>
  Effect.gen(function* () {
    switch (chore.spec.what) {
      case "fail":
        return yield* Effect.fail("the tap is dry")
      case "never":
        return yield* new TerminalError({ message: "there is no such tap" })
      case "hang":
        return yield* Effect.never
      case "later":
        return Result.requeueAfter("1 hour")
      default:
        return Result.done
    }
  })

const settings = {
  for: Chore.Chore,
  concurrency: 1,
  retry: Schedule.spaced("1 hour"),
  reconcile: asInstructed
} as const

const controller = (
  options: {
    readonly predicate?: Predicate.Predicate
    readonly retry?: Schedule.Schedule<unknown>
    readonly watches?: ReadonlyArray<Trigger.Trigger>
    readonly cleanup?: Effect.Effect<void, string>
  } = {}
): Controller.Controller<Manager.Runtime> => {
  const { cleanup, ...rest } = options
  return Controller.make("chores", {
    ...settings,
    ...rest,
    ...(cleanup !== undefined && { finalizer: { name: "suites.homeostat.dev/chores", cleanup: () => cleanup } })
  })
}

describe.concurrent("why answers for an object", () => {
  Chore.placed("that it does not exist, and which namespaces have an object with this name", (place) =>
    Effect.gen(function* () {
      const other = yield* place.cluster.namespace("why")
      const asked = yield* Asked.start(place, [controller()], { namespaces: [place.namespace, other] })
      yield* Chore.create({ ...place, namespace: other }, "shop")
      const answer = yield* Managed.eventually("the hint", asked.why("shop"), ({ hints }) => hints.length > 0)
      expect(answer).toMatchObject({
        verdict: "absent",
        object: { exists: false, seen: false, namespace: place.namespace },
        hints: [`There is a Chore shop in namespace ${other}.`]
      })
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop does not exist, and this process, which started to watch .*, has not seen it\.$/
      )
    })
  )

  Chore.placed("that it is in a namespace outside of the cache", (place) =>
    Effect.gen(function* () {
      const other = yield* place.cluster.namespace("why")
      const asked = yield* Asked.start(place, [controller()], { namespaces: [other] })
      yield* Chore.create(place, "shop")
      expect(yield* asked.why("shop")).toMatchObject({
        verdict: "out-of-scope",
        answer: `Chore ${place.namespace}/shop exists, but this process only sees namespace ${other} (--namespace).`
      })
    })
  )

  Chore.placed("that it does not have the selected labels", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()], { labelSelector: "team=red" })
      yield* Chore.create(place, "shop", { labels: { team: "blue" } })
      const answer = yield* asked.until("shop", "out-of-scope")
      expect(answer.answer).toBe(
        `Chore ${place.namespace}/shop exists, but this process only sees objects with labels team=red (--selector); this one has team=blue.`
      )
    })
  )

  Chore.placed("which predicate ignored it, without a reconcile or after its last change", (place) =>
    Effect.gen(function* () {
      const predicate = Predicate.and(Predicate.generationChanged, Predicate.labels({ watch: "yes" }))
      const asked = yield* Asked.start(place, [controller({ predicate })])
      yield* Chore.create(place, "never")
      const never = yield* asked.until("never", "filtered")
      expect(never.answer).toStartWith(`Chore ${place.namespace}/never has not been reconciled: a predicate ignored it`)
      expect(never.answer).toEndWith("labels: it does not have watch=yes.")
      expect(never.runs).toEqual([])

      yield* Chore.create(place, "once", { labels: { watch: "yes" } })
      yield* asked.until("once", "reconciled")
      yield* Chore.touch({ ...place, name: "once" }, "by hand")
      const once = yield* asked.until("once", "filtered")
      expect(once.answer).toMatch(
        /^The last change of Chore \S+\/once, .* was ignored by a predicate: generationChanged: its spec is unchanged\. It was reconciled last .*: nothing to do\.$/
      )
      expect(once.ignored).toMatchObject([{ kind: "watch.modified", own: false, times: 1 }])
    })
  )

  Chore.placed("that it failed, how often, why, and when it is retried", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()])
      yield* Chore.create(place, "shop", { what: "fail" })
      yield* asked.until("shop", "backoff")
      yield* Chore.touch({ ...place, name: "shop" }, "by hand")
      const answer = yield* Managed.eventually(
        "the second failure",
        asked.why("shop"),
        ({ runs: [run], verdict }) => run?.number === 2 && verdict === "backoff"
      )
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop failed, 2 times in a row, and the manager retries it in (59m\d*s?|1h) \(.*Z\): the tap is dry\.$/
      )
      expect(answer.next?.why).toBe("retry 2, as the last attempt failed")
      expect(Date.parse(answer.next?.at ?? "") - Date.parse(answer.at)).toBeWithin(3_500_000, 3_600_001)
      // Two equal failures make one line, with the cause of the last one.
      expect(answer.runs).toMatchObject([{ outcome: "Failed", message: "the tap is dry", times: 2, coalesced: 2 }])
      const woken = answer.runs[0]?.triggers.map(({ text }) => text)
      expect(woken).toEqual(["a retry after a failure", "it was changed"])
    })
  )

  Chore.placed("that it waits in the queue, its position, and that another object is being reconciled", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()])
      yield* Chore.create(place, "busy", { what: "hang" })
      const busy = yield* asked.until("busy", "running")
      expect(busy.answer).toMatch(/^Chore \S+\/busy is being reconciled right now, for \d+m?s\.$/)
      yield* Chore.create(place, "first")
      yield* asked.until("first", "queued")
      yield* Chore.create(place, "second")
      const answer = yield* asked.until("second", "queued")
      expect(answer.answer).toMatch(
        /^Chore \S+\/second has waited for a free worker for \d+m?s: 1 object is before it, and the only worker is busy\.$/
      )
      expect(answer.wokenBy).toMatchObject({
        waiting: true,
        count: 1,
        triggers: [{ kind: "watch.added", text: "it was created" }]
      })
      expect(answer.next?.why).toBe("as soon as a worker is free")
    })
  )

  Chore.placed("that it failed permanently", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()])
      yield* Chore.create(place, "shop", { what: "never" })
      const answer = yield* asked.until("shop", "failed-permanently")
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop failed permanently .*, and will not be retried until something changes: there is no such tap\.$/
      )
      expect(answer.next?.why).toBe("nothing before something changes")
    })
  )

  Chore.placed("that it was given up after its last retry", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller({ retry: Schedule.recurs(1) })])
      yield* Chore.create(place, "shop", { what: "fail" })
      const answer = yield* asked.until("shop", "given-up")
      expect(answer.answer).toMatch(
        /was given up .* after 2 attempts, and will not be retried until something changes: the tap is dry\.$/
      )
    })
  )

  Chore.placed("that it was reconciled, with the writes and the other managers of it and its children", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const asked = yield* Asked.start(place, [
        Controller.make("chores", {
          ...settings,
          owns: [ConfigMap],
          reconcile: (chore) =>
            Effect.gen(function* () {
              const { name } = chore.metadata
              yield* Owned.apply(chore, ConfigMap, { metadata: { namespace, name }, data: { what: "x" } })
              if (chore.status?.result !== "done") yield* Chore.report(chore.metadata, "done")
              return Result.done
            })
        })
      ])
      const key = { namespace, name: "shop" }
      yield* Chore.create(place, "shop")
      const child = Managed.eventually("the child", Client.get(ConfigMap, key), () => true)
      yield* child
      yield* Client.patch(ConfigMap, key, Patch.merge({ data: { more: "y" } }), { fieldManager: "somebody" })
      yield* Client.patch(ConfigMap, key, Patch.merge({ data: { what: "z" } }), { fieldManager: "vandal" })
      yield* Managed.eventually("the repair", Client.get(ConfigMap, key), ({ data }) => data?.what === "x")
      const answer = yield* Managed.eventually("that it rests", asked.why("shop"), ({ runs, verdict }) => {
        return (
          verdict === "drift" && runs.length > 1 && runs[0]?.writes.every(({ changed }) => changed !== true) === true
        )
      })
      expect(answer.answer).toMatch(
        /^vandal changed data\.what of ConfigMap shop, and controller chores put it back .*\. It was reconciled .* without an error, and nothing has asked for it since\.$/
      )
      expect(answer.health).toBe("healthy")
      expect(answer.children).toMatchObject([
        {
          kind: "ConfigMap",
          key: `${namespace}/shop`,
          exists: true,
          others: [{ manager: "somebody", fields: ["data.more"] }]
        }
      ])
      expect(answer.writers.map(({ manager, subresource }) => `${manager} ${subresource ?? ""}`.trim())).toContain(
        "chores status"
      )
      const repair = answer.runs.find(({ corrections }) => corrections.some(({ reason }) => reason === "drift"))
      expect(repair?.corrections).toMatchObject([{ kind: "ConfigMap", fields: ["data.what"], manager: "vandal" }])
      expect(repair?.triggers.map(({ text }) => text)).toContain("its ConfigMap shop was changed")

      const text = yield* asked.text("shop")
      expect(text).toContain("repaired ConfigMap shop, which vandal had changed (data.what)")
      // The answer about a child comes from its owner.
      const { body } = yield* asked.served.probe(`/why?kind=cm&namespace=${namespace}&name=shop`)
      expect(body).toStartWith(
        `ConfigMap ${namespace}/shop is a child of Chore shop (controller chores):\n\nvandal changed data.what`
      )
    })
  )

  Chore.placed("when its controller checks it again", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()])
      yield* Chore.create(place, "shop", { what: "later" })
      const answer = yield* asked.until("shop", "scheduled")
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop was reconciled .* without an error; its controller checks it again in (59m\d*s?|1h) \(.*\)\.$/
      )
    })
  )

  Chore.placed("that it was deleted, when, and its last attempt", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller()])
      yield* Chore.create(place, "shop", { what: "later" })
      yield* asked.until("shop", "scheduled")
      yield* Client.delete(Chore.Chore, { ...place, name: "shop" })
      const answer = yield* Managed.eventually("that it knows the reason", asked.why("shop"), ({ runs, verdict }) => {
        return verdict === "deleted" && runs[0]?.outcome === "Vanished"
      })
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop was deleted .*\. It was reconciled last .*: done, requeue after 1h\.$/
      )
      expect(answer.object).toMatchObject({ exists: false, seen: false })
    })
  )

  Chore.placed("that its deletion waits for a finalizer of another manager, and which manager", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const asked = yield* Asked.start(place, [controller({ cleanup: Effect.void })])
      const key = { namespace, name: "shop" }
      yield* Chore.create(place, "shop")
      yield* asked.until("shop", "reconciled")
      const held = { metadata: { finalizers: ["suites.homeostat.dev/chores", "example.com/hold"] } }
      yield* Client.patch(Chore.Chore, key, Patch.merge(held), { fieldManager: "auditor" })
      yield* Client.delete(Chore.Chore, key)
      const answer = yield* asked.until("shop", "deletion-blocked")
      expect(answer.answer).toMatch(
        /^Chore \S+\/shop is being deleted, as requested .*, and waits for finalizer example\.com\/hold, which controller chores does not own; chores has nothing left to do\.$/
      )
      expect(answer.finalizers).toEqual([{ name: "example.com/hold", ours: false, by: "auditor" }])
      yield* Client.patch(Chore.Chore, key, Patch.merge({ metadata: { finalizers: null } }))
    })
  )

  Chore.placed("that its deletion waits for a failing clean-up", (place) =>
    Effect.gen(function* () {
      const asked = yield* Asked.start(place, [controller({ cleanup: Effect.fail("the sink is full") })])
      const key = { ...place, name: "shop" }
      yield* Chore.create(place, "shop")
      yield* asked.until("shop", "reconciled")
      yield* Client.delete(Chore.Chore, key)
      const answer = yield* Managed.eventually("the failure", asked.why("shop"), ({ answer }) =>
        answer.includes("sink")
      )
      expect(answer.verdict).toBe("deleting")
      expect(answer.answer).toMatch(
        /waits for the clean-up of controller chores \(finalizer suites\.homeostat\.dev\/chores\)\. It failed, and the manager retries it in .*: the sink is full\.$/
      )
      yield* Client.patch(Chore.Chore, key, Patch.merge({ metadata: { finalizers: null } }))
    })
  )

  Chore.placed("that another process leads, and how to ask it", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const election = (identity: string) =>
        EffectResult.getOrThrow(LeaderElection.make({ namespace, name: "chores", identity }))
      const leader = yield* Asked.start(place, [controller()], { leaderElection: election("pod-1_one") })
      yield* Chore.create(place, "shop")
      yield* leader.until("shop", "reconciled")
      const standby = yield* Asked.start(place, [controller()], { leaderElection: election("pod-2_two") })
      const answer = yield* Managed.eventually("the leader", standby.why("shop"), ({ answer }) =>
        answer.includes("one")
      )
      expect(answer).toMatchObject({
        verdict: "standby",
        answer: `This process does not reconcile Chore ${namespace}/shop: it stands by, and pod-1_one leads (Lease ${namespace}/chores).`,
        hints: [
          `Ask the leader. If pod-1 is a pod: kubectl -n ${namespace} port-forward pod/pod-1 8081, and then repeat the command.`
        ]
      })
      // The manager keeps its history after it has lost the leadership.
      yield* leader.served.stop
      yield* standby.until("shop", "reconciled")
    })
  )

  Chore.placed("that its controller has not started, because a kind is not served", (place) =>
    Effect.gen(function* () {
      const Late = { ...Secret, group: "late.homeostat.dev", plural: "lates", kind: "Late" }
      const asked = yield* Asked.start(place, [controller({ watches: [Trigger.on(Late, { map: () => [] })] })])
      yield* Chore.create(place, "shop")
      const answer = yield* Managed.eventually("the kind", asked.why("shop"), ({ answer }) => answer.includes("late"))
      expect(answer.verdict).toBe("cache-not-synced")
      expect(answer.answer).toMatch(
        /^Controller chores has not started, so nothing is done for Chore \S+\/shop: cannot (list|watch) lates\.late\.homeostat\.dev in namespace \S+: the API server does not serve late\.homeostat\.dev\/v1 Late; install its CustomResourceDefinition\.$/
      )
    })
  )
})

describe("The page", () => {
  Chore.placed("rejects an invalid question with one line", (place) =>
    Effect.gen(function* () {
      const { served } = yield* Asked.start(place, [controller()])
      const refused: ReadonlyArray<readonly [query: string, line: string]> = [
        ["", "an object is required: /why?kind=webapp&namespace=default&name=shop"],
        ["?kind=chore", "an object is required: /why?kind=webapp&namespace=default&name=shop"],
        ["?kind=dog&name=rex", `no controller here reconciles a kind "dog", but Chore (chores.suites.homeostat.dev)`],
        ["?kind=chore&name=../../secrets", `invalid name: "../../secrets"`],
        ["?kind=chore&name=a&namespace=a/b", `invalid namespace: "a/b"`],
        ["?kind=chore&name=a&controller=cats", `unknown controller: "cats" (must be one of chores)`],
        ["?kind=chore&name=a&output=xml", "output=xml is neither json nor text"]
      ]
      for (const [query, line] of refused) {
        expect(yield* served.probe(`/why${query}`)).toEqual({ status: 400, body: `${line}\n` })
      }
    })
  )

  Chore.placed("accepts all names of a kind", (place) =>
    Effect.gen(function* () {
      const { served } = yield* Asked.start(place, [controller()])
      for (const kind of ["chore", "Chore", "CHORES", "chores.suites.homeostat.dev", "chore.suites.homeostat.dev"]) {
        const { body } = yield* served.probe(`/why?kind=${kind}&namespace=${place.namespace}&name=shop`)
        expect(body).toContain(`Chore ${place.namespace}/shop does not exist`)
      }
    })
  )
})
