/**
 * Which claims a Backup saves: `spec.source`, and what there is of that name in the namespace. Pure.
 *
 * A claim is saved only if it is bound: a pod that mounts one of a class with WaitForFirstConsumer would bind it, to a volume
 * with nothing in it, and maybe far from where its workload can run.
 */
import type { Deployment, PersistentVolumeClaim, Pod, StatefulSet } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import * as Claim from "./Claim.ts"
import * as Usage from "./Usage.ts"

/** What `spec.source` may name. */
export type Kind = "pvc" | "deployment" | "statefulset"

/** What `spec.source` says. Without a kind: the claim of that name, else the Deployment, else the StatefulSet. */
export interface Reference {
  readonly kind?: Kind
  readonly name: string
}

/** Reads `spec.source`, whose shape the CustomResourceDefinition has checked. */
export const parse = (text: string): Reference => {
  const kind = kinds.find((candidate) => text.startsWith(`${candidate}/`))
  return kind === undefined ? { name: text } : { kind, name: text.slice(kind.length + 1) }
}

const kinds = ["pvc", "deployment", "statefulset"] as const

const words: { readonly [kind in Kind]: string } = {
  pvc: "PersistentVolumeClaim",
  deployment: "Deployment",
  statefulset: "StatefulSet"
}

/** What was read in the namespace. */
export interface Seen {
  /** The Deployment of the source's name. */
  readonly deployment: Deployment | undefined
  /** The StatefulSet of the source's name. */
  readonly statefulSet: StatefulSet | undefined
  /** All of the namespace. */
  readonly claims: ReadonlyArray<PersistentVolumeClaim>
  /** All of the namespace. */
  readonly pods: ReadonlyArray<Pod>
}

type Resolved = Either.Either<Arr.NonEmptyReadonlyArray<Claim.Claim>, Claim.Refusal>

/** The claims to save, each once, by their names. */
export const resolve = (reference: Reference, seen: Seen): Resolved =>
  Either.gen(function* () {
    const kind = yield* choose(reference, seen)
    const wanted = yield* candidates(kind, reference.name, seen)
    return yield* Either.all(Arr.map(wanted, (candidate) => accept(candidate, seen)))
  })

/** A claim by its name, before anybody looked whether it is there. */
interface Candidate extends Pick<Claim.Claim, "name" | "together" | "template"> {
  /** For messages: who names it. */
  readonly by: string | undefined
}

const recreate = "delete and create the Backup with another spec.source"

const choose = ({ kind, name }: Reference, seen: Seen): Either.Either<Kind, Claim.Refusal> => {
  const exists: { readonly [kind in Kind]: boolean } = {
    pvc: seen.claims.some(({ metadata }) => metadata.name === name),
    deployment: seen.deployment !== undefined,
    statefulset: seen.statefulSet !== undefined
  }
  const found = kinds.filter((candidate) => exists[candidate])
  const fitting = kind === undefined ? found : found.filter((candidate) => candidate === kind)
  const [first, ...others] = fitting
  if (first === undefined) {
    const wanted = kind === undefined ? "PersistentVolumeClaim, Deployment or StatefulSet" : words[kind]
    const meant =
      found[0] === undefined ? "create it" : `there is ${found.map((other) => `${other}/${name}`).join(" and ")}`
    return refuse("SourceNotFound", `${wanted} ${name} not found in this namespace: ${meant}, or ${recreate}`)
  }
  if (others.length > 0) {
    return refuse(
      "SourceAmbiguous",
      `There are a ${fitting.map((one) => words[one]).join(" and a ")} ${name}: delete and create the Backup with spec.source ${fitting.map((one) => `${one}/${name}`).join(" or ")}`
    )
  }
  return Either.right(first)
}

const refuse = (reason: Claim.Refusal["reason"], message: string) => Either.left<Claim.Refusal>({ reason, message })

type Candidates = Either.Either<Arr.NonEmptyReadonlyArray<Candidate>, Claim.Refusal>

const candidates = (kind: Kind, name: string, seen: Seen): Candidates => {
  const found = () => {
    switch (kind) {
      case "pvc":
        return [{ name, together: undefined, template: undefined, by: undefined }]
      case "deployment":
        return seen.deployment === undefined ? [] : ofDeployment(seen.deployment, seen)
      case "statefulset":
        return seen.statefulSet === undefined ? [] : ofStatefulSet(seen.statefulSet, seen)
    }
  }
  // A claim can be in a pod twice.
  const once = [...new Map(found().map((candidate) => [candidate.name, candidate])).values()]
  const sorted = once.sort((a, b) => (a.name < b.name ? -1 : 1))
  return Arr.isNonEmptyReadonlyArray(sorted) ? Either.right(sorted) : nothing(kind, name, seen)
}

/** A workload without a claim: for good, or until it has pods. */
const nothing = (kind: Kind, name: string, { deployment, statefulSet }: Seen): Candidates => {
  const { metadata, spec } = (kind === "deployment" ? deployment : statefulSet) ?? {}
  const templates = kind === "statefulset" ? (statefulSet?.spec?.volumeClaimTemplates ?? []) : []
  const comesWithPods =
    templates.length > 0 || Usage.claimsOf("", spec?.template.spec).some(({ ephemeral }) => ephemeral)
  return refuse(
    "SourceHasNoVolumes",
    comesWithPods
      ? `The volumes of ${words[kind]} ${metadata?.name ?? name} are made with its pods, and there are none: scale it up, or ${recreate}`
      : `${words[kind]} ${metadata?.name ?? name} uses no PersistentVolumeClaim, so there is nothing to save: add one, or ${recreate}`
  )
}

/** Claims that the template names: each of the pods mounts them. */
const ofTemplate = (by: string, spec: Usage.PodSpec | undefined): ReadonlyArray<Candidate> =>
  spec === undefined
    ? []
    : Usage.claimsOf("", spec)
        .filter(({ ephemeral }) => !ephemeral)
        .map(({ claim, volume }) => ({ name: claim, together: undefined, template: { spec, volume }, by }))

/** Claims that live as long as the pods they were made for. One of that name that was made for another is not the pod's. */
const ofPods = (by: string, pods: ReadonlyArray<Pod>, claims: ReadonlyArray<PersistentVolumeClaim>) =>
  pods.filter(isRunning).flatMap(({ metadata: { name, uid }, spec }) =>
    Usage.claimsOf(name, spec)
      .filter(
        ({ claim, ephemeral }) =>
          ephemeral && claims.some((one) => one.metadata.name === claim && controllerOf(one)?.uid === uid)
      )
      .map(({ claim }): Candidate => ({ name: claim, together: name, template: undefined, by }))
  )

const isRunning = ({ metadata, status }: Pod): boolean =>
  status?.phase === "Running" && metadata.deletionTimestamp === undefined

const ofDeployment = ({ metadata, spec }: Deployment, { claims, pods }: Seen): ReadonlyArray<Candidate> => {
  const by = `Deployment ${metadata.name}`
  const own = pods.filter((pod) => {
    const holder = controllerOf(pod)
    // A ReplicaSet is named by its Deployment and the hash, so none has to be read.
    return (
      holder?.kind === "ReplicaSet" && holder.name === `${metadata.name}-${pod.metadata.labels?.["pod-template-hash"]}`
    )
  })
  return [...ofTemplate(by, spec?.template.spec), ...ofPods(by, own, claims)]
}

const ofStatefulSet = ({ metadata, spec }: StatefulSet, { claims, pods }: Seen): ReadonlyArray<Candidate> => {
  const by = `StatefulSet ${metadata.name}`
  const own = pods.filter((pod) => controllerOf(pod)?.uid === metadata.uid)
  const names = new Set(claims.map((claim) => claim.metadata.name))
  const templates = (spec?.volumeClaimTemplates ?? []).flatMap((template) => template.metadata?.name ?? [])
  const podSpec = spec?.template.spec
  const ordinals =
    spec?.replicas === 0
      ? // What is kept for the time when it is scaled up again.
        templates.flatMap((template) =>
          [...names].flatMap((name) => ordinalOf(name, `${template}-${metadata.name}-`) ?? [])
        )
      : Array.from({ length: spec?.replicas ?? 1 }, (_, index) => `${(spec?.ordinals?.start ?? 0) + index}`)
  const claimed = templates.flatMap((template) =>
    [...new Set(ordinals)].flatMap((ordinal): ReadonlyArray<Candidate> => {
      const name = `${template}-${metadata.name}-${ordinal}`
      const together = `${metadata.name}-${ordinal}`
      // An ordinal whose turn has not come has neither claim nor pod, and nothing to save. A pod without its claim is a loss.
      return names.has(name) || own.some((pod) => pod.metadata.name === together)
        ? [{ name, together, template: podSpec === undefined ? undefined : { spec: podSpec, volume: template }, by }]
        : []
    })
  )
  // A claim template takes the place of a volume with its name.
  const others = ofTemplate(by, podSpec).filter(({ template }) => !templates.includes(template?.volume ?? ""))
  return [...others, ...claimed, ...ofPods(by, own, claims)]
}

const ordinalOf = (claim: string, prefix: string): string | undefined => {
  const rest = claim.startsWith(prefix) ? claim.slice(prefix.length) : ""
  return /^(0|[1-9][0-9]*)$/.test(rest) ? rest : undefined
}

const accept = (candidate: Candidate, { claims, pods }: Seen): Either.Either<Claim.Claim, Claim.Refusal> => {
  const claim = claims.find(({ metadata }) => metadata.name === candidate.name)
  const name = Claim.nameOf(candidate.name)
  if (claim === undefined) {
    const named =
      candidate.by === undefined ? `There is no ${name}` : `${candidate.by} uses ${name}, which is not there`
    return refuse("SourceNotFound", `${named}: create it`)
  }
  if (claim.metadata.deletionTimestamp !== undefined) {
    return refuse("SourceNotFound", `${name} is being deleted, and pods can no longer mount it: create it again`)
  }
  const refusal = Claim.unfit(claim, Usage.of(candidate.name, pods))
  if (refusal !== undefined) return Either.left(refusal)
  if (claim.status?.phase !== "Bound") {
    return refuse(
      "VolumeNotBound",
      `${name} has no volume yet: it is given one when a pod uses it or its StorageClass can provide one (kubectl describe pvc ${candidate.name} says what it waits for)`
    )
  }
  return Either.right(Claim.make(claim, candidate))
}
