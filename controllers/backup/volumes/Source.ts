/**
 * The claims that a Backup saves: resolves `spec.source` in the namespace. Pure.
 *
 * A claim is saved only if it is bound: a mover would bind an unbound claim of a class with WaitForFirstConsumer to an empty volume,
 * maybe far from its workload.
 */
import type { Deployment, PersistentVolumeClaim, Pod, StatefulSet } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Arr from "effect/Array"
import * as Result from "effect/Result"
import * as Usage from "./Usage.ts"
import * as VolumeClaim from "./VolumeClaim.ts"

/** The kinds in `spec.source`. */
export type Kind = "pvc" | "deployment" | "statefulset"

/** A parsed `spec.source`. Without a kind: the claim of that name, else the Deployment, else the StatefulSet. */
export interface Reference {
  readonly kind?: Kind
  readonly name: string
}

/** Parses `spec.source`, whose syntax the CustomResourceDefinition validates. */
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

/** The objects of the namespace. */
export interface Seen {
  /** The Deployment with the source's name. */
  readonly deployment: Deployment | undefined
  /** The StatefulSet with the source's name. */
  readonly statefulSet: StatefulSet | undefined
  /** All claims of the namespace. */
  readonly claims: ReadonlyArray<PersistentVolumeClaim>
  /** All pods of the namespace. */
  readonly pods: ReadonlyArray<Pod>
}

type Resolved = Result.Result<Arr.NonEmptyReadonlyArray<VolumeClaim.VolumeClaim>, VolumeClaim.Refusal>

/** The claims to save, without duplicates, sorted by name. */
export const resolve = (reference: Reference, seen: Seen): Resolved =>
  Result.gen(function* () {
    const kind = yield* choose(reference, seen)
    const wanted = yield* candidates(kind, reference.name, seen)
    return yield* Result.all(Arr.map(wanted, (candidate) => accept(candidate, seen)))
  })

/** The name of a claim that may not exist. */
interface Candidate extends Pick<VolumeClaim.VolumeClaim, "name" | "together" | "template"> {
  /** The object that names it, for messages. */
  readonly by: string | undefined
}

const recreate = "recreate the Backup with another spec.source"

const choose = ({ kind, name }: Reference, seen: Seen): Result.Result<Kind, VolumeClaim.Refusal> => {
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
      found[0] === undefined
        ? `create it, or ${recreate}`
        : `recreate the Backup with spec.source ${found.map((other) => `${other}/${name}`).join(" or ")}`
    return refuse("SourceNotFound", `${wanted} not found: ${name} (${meant})`)
  }
  if (others.length > 0) {
    return refuse(
      "SourceAmbiguous",
      `ambiguous spec.source: ${name} (recreate the Backup with ${fitting.map((one) => `${one}/${name}`).join(" or ")})`
    )
  }
  return Result.succeed(first)
}

const refuse = (reason: VolumeClaim.Refusal["reason"], message: string) =>
  Result.fail<VolumeClaim.Refusal>({ reason, message })

type Candidates = Result.Result<Arr.NonEmptyReadonlyArray<Candidate>, VolumeClaim.Refusal>

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
  // A pod can mount a claim twice.
  const once = [...new Map(found().map((candidate) => [candidate.name, candidate])).values()]
  const sorted = once.sort((a, b) => (a.name < b.name ? -1 : 1))
  return Arr.isReadonlyArrayNonEmpty(sorted) ? Result.succeed(sorted) : nothing(kind, name, seen)
}

/** A workload without claims: permanently, or until it has pods. */
const nothing = (kind: Kind, name: string, { deployment, statefulSet }: Seen): Candidates => {
  const { metadata, spec } = (kind === "deployment" ? deployment : statefulSet) ?? {}
  const templates = kind === "statefulset" ? (statefulSet?.spec?.volumeClaimTemplates ?? []) : []
  const comesWithPods =
    templates.length > 0 || Usage.claimsOf("", spec?.template.spec).some(({ ephemeral }) => ephemeral)
  return refuse(
    "SourceHasNoVolumes",
    comesWithPods
      ? `no volumes: ${words[kind]} ${metadata?.name ?? name} has no pods, and its volumes are created with them (scale it up, or ${recreate})`
      : `no volumes: ${words[kind]} ${metadata?.name ?? name} uses no PersistentVolumeClaim (add one, or ${recreate})`
  )
}

/** The claims in the template: every pod mounts them. */
const ofTemplate = (by: string, spec: Usage.PodSpec | undefined): ReadonlyArray<Candidate> =>
  spec === undefined
    ? []
    : Usage.claimsOf("", spec)
        .filter(({ ephemeral }) => !ephemeral)
        .map(({ claim, volume }) => ({ name: claim, together: undefined, template: { spec, volume }, by }))

/** The ephemeral claims of pods. A claim with the same name for another pod does not count. */
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
    // A ReplicaSet has the name of its Deployment and a hash, so it need not be read.
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
      ? // Keeps the claims for a later scale-up.
        templates.flatMap((template) =>
          [...names].flatMap((name) => ordinalOf(name, `${template}-${metadata.name}-`) ?? [])
        )
      : Array.from({ length: spec?.replicas ?? 1 }, (_, index) => `${(spec?.ordinals?.start ?? 0) + index}`)
  const claimed = templates.flatMap((template) =>
    [...new Set(ordinals)].flatMap((ordinal): ReadonlyArray<Candidate> => {
      const name = `${template}-${metadata.name}-${ordinal}`
      const together = `${metadata.name}-${ordinal}`
      // A replica that was not created yet has neither claim nor pod, and nothing to save. A pod without its claim is an error.
      return names.has(name) || own.some((pod) => pod.metadata.name === together)
        ? [{ name, together, template: podSpec === undefined ? undefined : { spec: podSpec, volume: template }, by }]
        : []
    })
  )
  // A claim template replaces a volume with the same name.
  const others = ofTemplate(by, podSpec).filter(({ template }) => !templates.includes(template?.volume ?? ""))
  return [...others, ...claimed, ...ofPods(by, own, claims)]
}

const ordinalOf = (claim: string, prefix: string): string | undefined => {
  const rest = claim.startsWith(prefix) ? claim.slice(prefix.length) : ""
  return /^(0|[1-9][0-9]*)$/.test(rest) ? rest : undefined
}

const accept = (
  candidate: Candidate,
  { claims, pods }: Seen
): Result.Result<VolumeClaim.VolumeClaim, VolumeClaim.Refusal> => {
  const claim = claims.find(({ metadata }) => metadata.name === candidate.name)
  const name = VolumeClaim.nameOf(candidate.name)
  if (claim === undefined) {
    const of = candidate.by === undefined ? "" : ` of ${candidate.by}`
    return refuse("SourceNotFound", `PersistentVolumeClaim${of} not found: ${candidate.name} (create it)`)
  }
  if (claim.metadata.deletionTimestamp !== undefined) {
    return refuse("SourceNotFound", `${name} is being deleted (create it again when it is gone)`)
  }
  const refusal = VolumeClaim.unfit(claim, Usage.of(candidate.name, pods))
  if (refusal !== undefined) return Result.fail(refusal)
  if (claim.status?.phase !== "Bound") {
    return refuse(
      "VolumeNotBound",
      `PersistentVolumeClaim not bound: ${candidate.name} (see kubectl describe pvc ${candidate.name})`
    )
  }
  return Result.succeed(VolumeClaim.make(claim, candidate))
}
