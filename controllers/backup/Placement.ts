/**
 * Where movers run, and as whom: claims become groups, each for a Job of its own, one after the other. Pure.
 *
 * - A claim that one node at a time can have, and that a live pod uses, is read on that pod's node. No Node is read for it.
 * - One that nobody uses is where its PersistentVolume lets it be, which the scheduler knows. Such claims share a pod only if a pod
 *   of their workload mounts them together: two others may be in zones that no node has both of.
 * - One that many nodes can have goes with any of the others.
 * - Claims whose files belong to different users are read by different pods, as who else would be allowed to.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import * as Order from "effect/Order"
import type { Backup } from "./Backup.ts"
import * as Claim from "./Claim.ts"
import * as Usage from "./Usage.ts"

/** A taint that is tolerated. */
export type Toleration = NonNullable<Usage.PodSpec["tolerations"]>[number]

/** As whom a mover reads and writes files: part of the security context of its pod. */
export interface Security {
  readonly runAsUser: number
  /** Absent: that of the image. */
  readonly runAsGroup?: number
  /** Absent: the kubelet leaves group and mode of the files as they are. */
  readonly fsGroup?: number
  readonly supplementalGroups?: ReadonlyArray<number>
}

/** Claims that one pod can mount. */
export interface Group {
  /** By their names. */
  readonly claims: Arr.NonEmptyReadonlyArray<Claim.Claim>
  /** The node that the pod has to be on. Undefined: the scheduler knows best. */
  readonly node: string | undefined
  /** Of the pods that use the claims. */
  readonly tolerations: ReadonlyArray<Toleration>
  readonly security: Security
}

/** What is placed. */
export interface Options {
  /** By their names. */
  readonly claims: Arr.NonEmptyReadonlyArray<Claim.Claim>
  /** All of the namespace. */
  readonly pods: ReadonlyArray<Pod>
  /** The claim of a `pvc://` destination, which each group needs as well. */
  readonly destination?: Claim.Claim | undefined
  /** The claims are written to, and may have files by now, whose group is to stay as it is. */
  readonly keepsGroup?: boolean | undefined
  /** `spec.podSecurityContext`: each of its fields wins over what was found. */
  readonly security?: Backup["spec"]["podSecurityContext"]
  /** For claims that nobody is seen to use. Default: {@link unknown}. */
  readonly fallback?: Security | undefined
}

/** The groups, in the order of their Jobs: by node, those without one last. Each claim is in one of them. */
export const place = ({
  claims,
  destination,
  fallback = unknown,
  keepsGroup = false,
  pods,
  security
}: Options): Either.Either<Arr.NonEmptyReadonlyArray<Group>, Claim.Refusal> => {
  const found = Arr.map(claims, (claim) => look(claim, pods))
  const groups = Arr.map(together(found, fallback, security), groupOf)
  if (destination === undefined) return Either.right(groups)
  const repository = look(destination, pods)
  const apart = found.find(
    ({ node }) => node !== undefined && repository.node !== undefined && node !== repository.node
  )
  return apart === undefined
    ? Either.right(
        Arr.map(groups, (group) => ({
          ...group,
          ...beside(repository, group, keepsGroup || security?.fsGroup !== undefined)
        }))
      )
    : Either.left({
        reason: "VolumeInUse",
        message: `${Claim.nameOf(apart.claim.name)} is in use on node ${apart.node}, and ${Claim.nameOf(destination.name)} of spec.destination on node ${repository.node}, so no pod can mount both: run their pods on one node, or keep the repository in a volume that nobody else uses`
      })
}

/** A claim and those who use it. */
interface Found {
  readonly claim: Claim.Claim
  /** Those who use it, or would if there were any. */
  readonly users: ReadonlyArray<Usage.User>
  readonly node: string | undefined
}

const look = (claim: Claim.Claim, pods: ReadonlyArray<Pod>): Found => {
  const uses = Usage.of(claim.name, pods)
  return {
    claim,
    users: uses.length > 0 || claim.template === undefined ? uses : [claim.template],
    node: Claim.isShared(claim) ? undefined : nodeOf(uses)
  }
}

/** Two nodes at once: only while one pod ends and the next waits for its volume, which is where the next is then. */
const nodeOf = (uses: ReadonlyArray<Usage.Use>): string | undefined => {
  const scheduled = uses.filter(({ node }) => node !== undefined)
  return (scheduled.find(({ pod }) => pod.metadata.deletionTimestamp === undefined) ?? scheduled[0])?.node
}

interface Placed extends Found {
  readonly location: string
  readonly security: Security
}

/** The claims of one pod each: those of one location that are read as the same user. */
const together = (
  found: Arr.NonEmptyReadonlyArray<Found>,
  fallback: Security,
  wanted: Options["security"]
): Arr.NonEmptyReadonlyArray<Arr.NonEmptyReadonlyArray<Placed>> => {
  const locations = found.map((one) => locationOf(one, found))
  const first = locations.filter((location) => location !== undefined).sort()[0] ?? ""
  const located = Arr.map(found, (one, index) => ({
    ...one,
    location: locations[index] ?? first,
    known: securityOf(one.users)
  }))
  const placed = Arr.map(
    located,
    (one): Placed => ({
      ...one,
      // Of a claim that nobody uses it is not known who may read it: any of its location will do.
      security: {
        ...(one.known ??
          located.find(({ known, location }) => location === one.location && known !== undefined)?.known ??
          fallback),
        ...wanted
      }
    })
  )
  const key = ({ location, security }: Placed) => `${location} ${JSON.stringify(security)}`
  return Arr.groupWith(Arr.sort(placed, Order.mapInput(Order.string, key)), (a, b) => key(a) === key(b))
}

/** Undefined: wherever the others are. */
const locationOf = (
  { claim, node }: Found,
  all: ReadonlyArray<Found>
): `node ${string}` | `pod ${string}` | undefined => {
  if (node !== undefined) return `node ${node}`
  if (claim.together === undefined || Claim.isShared(claim)) return undefined
  const mate = all.find((other) => other.claim.together === claim.together && other.node !== undefined)
  return mate?.node === undefined ? `pod ${claim.together}` : `node ${mate.node}`
}

const groupOf = (members: Arr.NonEmptyReadonlyArray<Placed>): Group => ({
  claims: Arr.map(members, ({ claim }) => claim),
  node: members.find(({ node }) => node !== undefined)?.node,
  tolerations: tolerationsOf(members.flatMap(({ users }) => users)),
  security: members[0].security
})

const tolerationsOf = (users: ReadonlyArray<Usage.User>, others: ReadonlyArray<Toleration> = []) => [
  ...new Map(
    [...others, ...users.flatMap(({ spec }) => spec?.tolerations ?? [])].map((one) => [JSON.stringify(one), one])
  ).values()
]

/** Where and as whom a mover runs that works on the repository in a volume, and as `security` says on nothing else. */
export const alone = (
  destination: Claim.Claim,
  {
    pods,
    security,
    wanted
  }: Pick<Options, "pods"> & { readonly security: Security; readonly wanted: Options["security"] }
): Omit<Group, "claims"> =>
  beside(look(destination, pods), { node: undefined, tolerations: [], security }, wanted?.fsGroup !== undefined)

/**
 * With the repository in a volume: the mover writes there by its group. If others use that volume, it is theirs, so that the
 * kubelet does not take their files from them.
 *
 * @param keeps the group that volumes are given is decided
 */
const beside = (
  repository: Found,
  { node, security, tolerations }: Omit<Group, "claims">,
  keeps: boolean
): Omit<Group, "claims"> => {
  const { fsGroup, runAsGroup = nobody } = security
  const group = securityOf(repository.users)?.fsGroup ?? fsGroup ?? runAsGroup
  return {
    node: repository.node ?? node,
    tolerations: repository.node === undefined ? tolerations : tolerationsOf(repository.users, tolerations),
    security: keeps ? withMember(security, group) : { ...withMember(security, fsGroup ?? group, group), fsGroup: group }
  }
}

/** Nobody's files are taken for root's: a mover is never root unless the spec says so. The number is nonroot's of distroless images. */
const nobody = 65_532

/** Of whoever has no other. */
export const unknown: Security = { runAsUser: nobody, runAsGroup: nobody }

/** With a group to which the kubelet gives the volumes that are written. Those that are mounted read-only it leaves alone. */
export const withGroup = (security: Security): Security => ({
  ...security,
  fsGroup: security.fsGroup ?? security.runAsGroup ?? nobody
})

/** A member of a group, unless it is one of `already`. */
const withMember = (security: Security, group: number, already = security.fsGroup): Security =>
  group === already
    ? security
    : { ...security, supplementalGroups: [...new Set([...(security.supplementalGroups ?? []), group])] }

/** As whom those who use a claim write, if that can be seen: the first who is not root. Undefined if nobody uses it. */
const securityOf = (users: ReadonlyArray<Usage.User>): Security | undefined => {
  const seen = users.flatMap((user) => identitiesOf(user))
  return seen.find(({ runAsUser }) => runAsUser !== nobody) ?? seen[0]
}

/** Of the containers that mount it; of the pod if none does. */
const identitiesOf = ({ spec, volume }: Usage.User): ReadonlyArray<Security> => {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].filter(({ volumeMounts }) =>
    volumeMounts?.some(({ name }) => name === volume)
  )
  const pod = spec?.securityContext
  return (containers.length === 0 ? [undefined] : containers).map((container): Security => {
    const user = container?.securityContext?.runAsUser ?? pod?.runAsUser ?? 0
    const group = container?.securityContext?.runAsGroup ?? pod?.runAsGroup
    return {
      // The user of an image is not written anywhere in the cluster.
      runAsUser: user === 0 ? nobody : user,
      ...(user === 0
        ? { runAsGroup: group === undefined || group === 0 ? nobody : group }
        : group !== undefined && { runAsGroup: group }),
      ...(pod?.fsGroup !== undefined && { fsGroup: pod.fsGroup }),
      ...(pod?.supplementalGroups !== undefined && { supplementalGroups: pod.supplementalGroups })
    }
  })
}
