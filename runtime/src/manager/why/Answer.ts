/**
 * Chooses the answer: the one fact that best explains the state of an object. Facts about the process precede facts about the object,
 * the worst fact about the object precedes the others, and the present precedes the past.
 */
import { parse as parseSelector } from "../../cache/LabelSelector.ts"
import * as WriteSwitch from "../../client/WriteSwitch.ts"
import * as Paused from "../../controller/Paused.ts"
import * as CpuUse from "../../queue/CpuUse.ts"
import * as Held from "../../queue/Held.ts"
import type { Position } from "../../queue/WorkQueue.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import * as BindAddress from "../BindAddress.ts"
import * as LeaseStop from "../LeaseStop.ts"
import { dueOf, type Facts, isFollowed, isGivenUp, named, unsynced } from "./Facts.ts"
import { managerOf, setterOf } from "./Fields.ts"
import type { Run } from "./Journal.ts"
import { future, past, span } from "./Time.ts"
import * as Trouble from "./Trouble.ts"
import { counted, inBrief, isSame, listed, sentence, timesInARow } from "./Words.ts"

/** The answer in one word. */
export type Verdict =
  | "absent"
  | "denied"
  | "deleted"
  | "out-of-scope"
  | "standby"
  | "cache-not-synced"
  | "not-seen-yet"
  | "unreachable"
  | "running"
  | "paused"
  | "writes-stopped"
  | "crd-narrowed"
  | "deletion-blocked"
  | "deleting"
  | "queued"
  | "backoff"
  | "failed-permanently"
  | "given-up"
  | "scheduled"
  | "interrupted"
  | "filtered"
  | "reconciled"
  | "forgotten"
  | Trouble.Trouble

/** An answer. */
export interface Answer {
  readonly verdict: Verdict
  readonly answer: string
  readonly hints?: ReadonlyArray<string>
}

/** The finalizers of Kubernetes itself, and what they wait for. */
const kubernetes: { readonly [finalizer: string]: string } = {
  foregroundDeletion: "Kubernetes' garbage collector, which deletes what belongs to the object first",
  orphan: "Kubernetes' garbage collector, which lets go of what belongs to the object first",
  kubernetes: "Kubernetes, which deletes what is in the namespace first"
}

const failed = new Set<Run["outcome"]>(["Failed", "Terminal", "Unreachable"])

/** The pod in a holder's identity, `<instance>_<random>`. */
const instanceOf = (holder: string): string => holder.replace(/_[^_]*$/, "")

const ofStandby = (facts: Facts, election: NonNullable<Facts["election"]>): Answer => {
  const { holder, lease } = election
  const begin = `This process does not reconcile ${named(facts)}: it stands by`
  if (holder === undefined || holder === election.identity) {
    return {
      verdict: "standby",
      answer: `${begin}, and the Lease ${keyString(lease)} has no known holder at the moment.`,
      hints: ["Ask again in some seconds: a replica is about to acquire it."]
    }
  }
  const instance = instanceOf(holder)
  return {
    verdict: "standby",
    answer: `${begin}, and ${holder} leads (Lease ${keyString(lease)}).`,
    hints: [
      `Ask the leader. If ${instance} is a pod: kubectl -n ${lease.namespace} port-forward pod/${instance} ${BindAddress.usualPorts.probes}, and then repeat the command.`
    ]
  }
}

/** The latest denial of a creation that is the last decision of its sender. Others could send reviews to conceal it. */
const lastDenialOf = (admissions: Facts["admissions"]): Facts["admissions"][number] | undefined => {
  const decided = admissions.filter(({ dryRun }) => !dryRun)
  return decided.findLast(
    (each, at) =>
      each.result === "denied" &&
      each.operation === "create" &&
      !decided.slice(at + 1).some(({ unverified }) => unverified === each.unverified)
  )
}

const ofAbsent = (facts: Facts): Answer => {
  const { elsewhere, entry, kind, key, now, since } = facts
  const deleted = entry?.deleted
  const last = entry?.runs.findLast(({ outcome }) => outcome !== "Vanished")
  const denied = lastDenialOf(facts.admissions)
  if (denied !== undefined && denied.at > (deleted?.at ?? 0)) {
    const sender = denied.unverified === undefined ? "" : `, in an unauthenticated review from ${denied.unverified}`
    return {
      verdict: "denied",
      answer: `${named(facts)} does not exist: a webhook of this program denied its creation ${past(denied.at, now)}${sender}: ${sentence(denied.message)}`
    }
  }
  if (deleted !== undefined) {
    const ran = last === undefined ? "" : ` It was reconciled last ${past(last.startedAt, now)}: ${inBrief(last)}.`
    return { verdict: "deleted", answer: `${named(facts)} was deleted ${past(deleted.at, now)}.${ran}` }
  }
  if (facts.cached !== undefined) {
    return {
      verdict: "deleted",
      answer: `${named(facts)} has just been deleted; this process has not seen that yet.`
    }
  }
  return {
    verdict: "absent",
    answer: `${named(facts)} does not exist, and this process, which started to watch ${past(since, now)}, has not seen it.`,
    hints: elsewhere.length > 0 ? [`There is a ${kind} ${key.name} in namespace ${listed(elsewhere)}.`] : []
  }
}

const ofUnseen = (facts: Facts): Answer => {
  const { labelSelector, live } = facts
  const labels = live._tag === "There" ? live.object.metadata.labels : undefined
  if (labelSelector !== undefined && live._tag === "There" && parseSelector(labelSelector)?.(labels) === false) {
    const has = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`)
    return {
      verdict: "out-of-scope",
      answer: `${named(facts)} exists, but this process only sees objects with labels ${labelSelector} (--selector); this one has ${has.length === 0 ? "none" : listed(has)}.`
    }
  }
  return live._tag === "There"
    ? {
        verdict: "not-seen-yet",
        answer: `${named(facts)} exists, and this process has not seen it yet.`,
        hints: ["That takes milliseconds. If it lasts, see the log."]
      }
    : {
        verdict: "absent",
        answer: `This process sees no ${named(facts)}, and the API server did not say whether there is one.`
      }
}

/** How the clean-up of an object goes. */
const cleaning = (facts: Facts): string => {
  const due = dueOf(facts)
  const last = facts.entry?.runs.at(-1)
  if (last?.message !== undefined) {
    const next = due === undefined ? "" : `, and the manager retries it ${future(due, facts.now)}`
    return ` It failed${timesInARow(last)}${next}: ${sentence(last.message)}`
  }
  return due === undefined ? "" : ` The controller checks it again ${future(due, facts.now)}.`
}

const ofUnselected = (facts: Facts, reason: string): Answer => {
  const { cached, controller, live } = facts
  const object = cached ?? (live._tag === "There" ? live.object : undefined)
  const ours = (object?.metadata.finalizers ?? []).filter((name) => controller.finalizers.includes(name))
  const left =
    ours.length === 0 ? "" : ` It has the finalizer ${listed(ours)}, which stays until the clean-up.${cleaning(facts)}`
  return {
    verdict: "out-of-scope",
    answer: `Controller ${controller.name} does not select ${named(facts)}: ${reason}.${left}`
  }
}

const ofDeletion = (facts: Facts, object: KubernetesObject): Answer => {
  const { controller, now } = facts
  const all = object.metadata.finalizers ?? []
  const foreign = all.filter((name) => !controller.finalizers.includes(name))
  const asked = Date.parse(object.metadata.deletionTimestamp ?? "")
  const begin = `${named(facts)} is being deleted${Number.isNaN(asked) ? "" : `, as requested ${past(asked, now)},`}`
  if (foreign.length < all.length) {
    const ours = listed(all.filter((name) => controller.finalizers.includes(name)))
    return {
      verdict: "deleting",
      answer: `${begin} and waits for the clean-up of controller ${controller.name} (finalizer ${ours}).${cleaning(facts)}`
    }
  }
  if (foreign.length === 0) return { verdict: "deleting", answer: `${begin} and is about to go.` }
  const many = foreign.length > 1
  const builtIn = foreign.flatMap((name) => kubernetes[name] ?? [])
  const stored = facts.live._tag === "There" ? facts.live.object : undefined
  const setters = [...new Set(foreign.flatMap((name) => setterOf(stored, name) ?? []))]
  return {
    verdict: "deletion-blocked",
    answer: `${begin} and waits for ${many ? "finalizers" : "finalizer"} ${listed(foreign)}, which controller ${controller.name} does not own; ${controller.name} has nothing left to do.`,
    hints:
      builtIn.length === foreign.length
        ? [`That is for ${listed(builtIn)}.`]
        : [
            setters.length === 0
              ? "The manager that added it removes it when its own work is done."
              : `${listed(setters)} added it, and has to remove it.`
          ]
  }
}

/** Why objects of other namespaces go before one that has waited. */
const behind = ({ controller, key: { namespace }, queue }: Facts, waited: string): Omit<Answer, "verdict"> => {
  const { heldWorkers, overShareMillis } = queue ?? {}
  const window = span(CpuUse.windowMillis)
  if (overShareMillis !== undefined)
    return {
      answer: `${waited} Objects of other namespaces go first. The reconciles of namespace ${namespace} used ${overShareMillis} ms of CPU in the last ${window} (its share is ${CpuUse.shareMillis} ms).`,
      hints: [
        `The object keeps its place, and has it again when its namespace has used less than that in ${window}: reduce the number or the size of the namespace's objects, or how often they change.`
      ]
    }
  if (heldWorkers === undefined) return { answer: waited }
  return {
    answer: `${waited} Objects of other namespaces go first. The reconciles of namespace ${namespace} hold ${heldWorkers} of ${counted(controller.workers, "worker")} (its share is ${Held.mostOf(controller.workers)}).`,
    hints: [
      "The object keeps its place, and has it again when one of these reconciles ends: look for what they wait for, such as a webhook that answers slowly."
    ]
  }
}

const ofStop = (facts: Facts, stop: WriteSwitch.Stop, lease: ObjectKey): Answer => ({
  verdict: "writes-stopped",
  answer: `${named(facts)} waits: ${sentence(WriteSwitch.describe(stop))} Its reconcile goes on ${future(stop.until, facts.now)}.`,
  hints: [
    `To go on now: kubectl annotate lease ${lease.name} -n ${lease.namespace} ${LeaseStop.untilAnnotation}-, or the command "writes resume".`
  ]
})

const ofPaused = (facts: Facts, why: string): Answer => {
  const stored = facts.live._tag === "There" ? facts.live.object : undefined
  const setter = managerOf(stored, `metadata.annotations.${Paused.annotation}`)
  const by = setter === undefined ? "" : ` ${setter} set it.`
  const namespace = facts.key.namespace === undefined ? "" : ` -n ${facts.key.namespace}`
  return {
    verdict: "paused",
    answer: `${sentence(Paused.describe(named(facts), why))}${by}`,
    hints: [
      `No controller writes it or its children. To resume: kubectl annotate ${facts.resource} ${facts.key.name}${namespace} ${Paused.annotation}-`
    ]
  }
}

const ofQueue = (facts: Facts, position: Position): Answer | undefined => {
  const { controller, now, queue } = facts
  const last = facts.entry?.runs.at(-1)
  const due = dueOf(facts)
  switch (position._tag) {
    case "Processing": {
      const again =
        due !== undefined
          ? ` It runs again ${future(due, now)}.`
          : position.again
            ? " It runs once more right after, as something happened meanwhile."
            : ""
      return {
        verdict: "running",
        answer: `${named(facts)} is being reconciled right now, for ${span(now - position.since)}.${again}`
      }
    }
    case "Ready": {
      const { busy = 0 } = queue ?? {}
      const { index, priority } = position
      const before = index === 0 ? "it is next" : `${counted(index, "object")} ${index === 1 ? "is" : "are"} before it`
      const workers =
        busy >= controller.workers
          ? `${controller.workers === 1 ? "the only worker is" : `all ${controller.workers} workers are`} busy`
          : `${busy} of ${counted(controller.workers, "worker")} ${busy === 1 ? "is" : "are"} busy`
      const low = priority < 0 ? " Recently changed objects go first, and this object has not changed." : ""
      const waited = `${named(facts)} has waited for a free worker for ${span(now - position.since)}: ${before}, and ${workers}.${low}`
      return { verdict: "queued", ...behind(facts, waited) }
    }
    case "Delayed": {
      const message = last?.message === undefined ? "" : `: ${sentence(last.message)}`
      if (isGivenUp(position)) {
        const when = last === undefined ? "" : ` ${past(last.startedAt, now)}`
        return last?.outcome === "Terminal"
          ? {
              verdict: "failed-permanently",
              answer: `${named(facts)} failed permanently${when}, and will not be retried until something changes${message || "."}`,
              hints: ["Change the object, or an object that it depends on; the manager then tries again at once."]
            }
          : {
              verdict: "given-up",
              answer: `${named(facts)} was given up${when}${last === undefined ? "" : ` after ${counted(last.number, "attempt")}`}, and will not be retried until something changes${message || "."}`,
              hints: [
                "The manager retries it at once after a change of the object, or of an object that it depends on."
              ]
            }
      }
      if (last !== undefined && failed.has(last.outcome)) {
        return {
          verdict: "backoff",
          answer: `${named(facts)} failed${timesInARow(last)}, and the manager retries it ${future(position.until, now)}${message || "."}`,
          hints: ["The manager retries at once when the object changes. A change of its spec also resets the delays."]
        }
      }
      const ran = last === undefined ? "" : ` was reconciled ${past(last.startedAt, now)} without an error`
      return last?.outcome === "Requeue"
        ? {
            verdict: "scheduled",
            answer: `${named(facts)} is not ready yet; its controller checks it again ${future(position.until, now)}.`
          }
        : {
            verdict: "scheduled",
            answer: `${named(facts)}${ran === "" ? " waits" : ran}; its controller checks it again ${future(position.until, now)}.`
          }
    }
    case "Absent":
      return undefined
  }
}

/** The last event of an object that waits for nothing. */
const ofRest = (facts: Facts): Answer => {
  const { entry, now } = facts
  const last = entry?.runs.at(-1)
  const self = { ...facts.key, kind: facts.kind }
  const dropped = facts.ignored.findLast(({ own, source }) => !own && isSame(source, self))
  const again = "the next attempt follows a change of the object, or the periodic resync"
  if (dropped !== undefined && (last === undefined || dropped.at > last.startedAt)) {
    return last === undefined
      ? {
          verdict: "filtered",
          answer: `${named(facts)} has not been reconciled: a predicate ignored it ${past(dropped.at, now)}: ${sentence(dropped.predicate)}`
        }
      : {
          verdict: "filtered",
          answer: `The last change of ${named(facts)}, ${past(dropped.at, now)}, was ignored by a predicate: ${dropped.predicate}. It was reconciled last ${past(last.startedAt, now)}: ${sentence(inBrief(last))}`
        }
  }
  if (last === undefined) {
    return {
      verdict: "forgotten",
      answer: `${named(facts)} waits for nothing. The journal no longer has its attempts, as many other objects came later.`,
      hints: [`No attempt of it is known; ${again}.`]
    }
  }
  if (last.outcome === "Interrupted") {
    return {
      verdict: "interrupted",
      answer: `${named(facts)} was interrupted ${past(last.startedAt, now)}, because the process or its leadership ended. The next leader starts with it.`
    }
  }
  return {
    verdict: "reconciled",
    answer: `${named(facts)} was reconciled ${past(last.startedAt, now)} without an error, and nothing has asked for it since.`
  }
}

const ofCaches = (facts: Facts): Answer => {
  const waiting = unsynced(facts)
  const reasons = [...new Set(waiting.map(({ problem, resource }) => problem ?? `${resource} are still being listed`))]
  return {
    verdict: "cache-not-synced",
    answer: `Controller ${facts.controller.name} has not started, so nothing is done for ${named(facts)}: ${sentence(reasons.join("; "))}`,
    hints: [
      "The controller starts as soon as it can read these kinds; the preflight command names every missing permission."
    ]
  }
}

/** The verdicts about attempts that fail: their answers have the cause. */
const failing: ReadonlyArray<Verdict> = ["backoff", "failed-permanently", "given-up"]

/** The answer that begins with the worst fact, and goes on with what the process does. A loop is worse than a failing attempt. */
const ledByWorst = (facts: Facts, rest: Answer): Answer => {
  const worst = Trouble.worst(facts)
  if (worst === undefined) return rest
  if (failing.includes(rest.verdict) && worst.verdict !== "fight" && worst.verdict !== "loop") return rest
  const begin = `${named(facts)} `
  const then = rest.answer.startsWith(begin) ? `It ${rest.answer.slice(begin.length)}` : rest.answer
  return { ...worst, answer: `${worst.answer} ${then}`, hints: [...(worst.hints ?? []), ...(rest.hints ?? [])] }
}

/**
 * The answer for these facts. Facts about the process precede those about the object. A deletion precedes the state of the object, which
 * nothing maintains any more.
 */
export const answerOf = (facts: Facts): Answer => {
  const { cached, election, live, namespaces, queue } = facts
  if (facts.unselected !== undefined && live._tag !== "NotThere") return ofUnselected(facts, facts.unselected)
  if (!isFollowed(facts)) {
    const exists =
      live._tag === "There" ? "exists, but" : live._tag === "NotThere" ? "does not exist, and" : "is not looked at:"
    return {
      verdict: "out-of-scope",
      answer: `${named(facts)} ${exists} this process only sees namespace ${listed(namespaces)} (--namespace).`
    }
  }
  if (live._tag === "NotThere") return ofAbsent(facts)
  if (election !== undefined && !election.leading) return ofStandby(facts, election)
  if (unsynced(facts).length > 0) return ofCaches(facts)
  if (cached === undefined) return ofUnseen(facts)
  if (!facts.reachable && queue?.position._tag !== "Processing") {
    return {
      verdict: "unreachable",
      answer: `No API server answers, so all reconciles pause, that of ${named(facts)} too; they go on by themselves when one does.`
    }
  }
  if (cached.metadata.deletionTimestamp !== undefined && queue?.position._tag !== "Processing") {
    return ofDeletion(facts, cached)
  }
  if (facts.narrowed !== undefined && queue?.position._tag !== "Processing") {
    return {
      verdict: "crd-narrowed",
      answer: `${named(facts)} waits, as all objects of its kind do: ${sentence(facts.narrowed)}`,
      hints: ["Without these fields, a reconcile would undo what they ask for. It goes on when the CRD has them."]
    }
  }
  if (election?.stop !== undefined) return ofStop(facts, election.stop, election.lease)
  const paused = Paused.reasonOf(cached)
  if (paused !== undefined && queue?.position._tag !== "Processing") return ofPaused(facts, paused)
  return ledByWorst(facts, (queue === undefined ? undefined : ofQueue(facts, queue.position)) ?? ofRest(facts))
}
