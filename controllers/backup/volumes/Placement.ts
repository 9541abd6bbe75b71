/**
 * The nodes and users of movers: groups claims, with one Job per group, one after the other. Pure.
 *
 * - A claim for one node at a time that a live pod uses is mounted on that pod's node. No Node is read for it.
 * - An unused claim is placed by its PersistentVolume, which the scheduler knows. Such claims share a pod only if a pod of their
 *   workload mounts them together: others may be in different zones.
 * - A claim for many nodes joins any other group.
 * - Claims with files of different users are mounted by different pods.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Arr from "effect/Array"
import * as Order from "effect/Order"
import * as Result from "effect/Result"
import type { Backup } from "../kinds/Backup.ts"
import * as Usage from "./Usage.ts"
import * as VolumeClaim from "./VolumeClaim.ts"

/** A taint that is tolerated. */
export type Toleration = NonNullable<Usage.PodSpec["tolerations"]>[number]

/** The user of a mover's file access: a part of the security context of its pod. */
export interface Security {
  readonly runAsUser: number
  /** Absent: the group of the image. */
  readonly runAsGroup?: number
  /** Absent: the kubelet does not change group and mode of the files. */
  readonly fsGroup?: number
  readonly supplementalGroups?: ReadonlyArray<number>
}

/** Claims that one pod can mount. */
export interface Group {
  /** Sorted by name. */
  readonly claims: Arr.NonEmptyReadonlyArray<VolumeClaim.VolumeClaim>
  /** The required node of the pod. Undefined: the scheduler chooses. */
  readonly node: string | undefined
  /** The tolerations of the pods that use the claims. */
  readonly tolerations: ReadonlyArray<Toleration>
  readonly security: Security
}

/** The input of the placement. */
export interface Options {
  /** Sorted by name. */
  readonly claims: Arr.NonEmptyReadonlyArray<VolumeClaim.VolumeClaim>
  /** All pods of the namespace. */
  readonly pods: ReadonlyArray<Pod>
  /** The claim of a `pvc://` destination, which each group also mounts. */
  readonly destination?: VolumeClaim.VolumeClaim | undefined
  /** The claims are written and may contain files whose group must not change. */
  readonly keepsGroup?: boolean | undefined
  /** `spec.podSecurityContext`: each of its fields overrides the detected one. */
  readonly security?: Backup["spec"]["podSecurityContext"]
  /** The user for claims without known users. Default: {@link unknown}. */
  readonly fallback?: Security | undefined
}

/** The groups in the order of their Jobs: by node, those without one last. Each claim is in one of them. */
export const place = ({
  claims,
  destination,
  fallback = unknown,
  keepsGroup = false,
  pods,
  security
}: Options): Result.Result<Arr.NonEmptyReadonlyArray<Group>, VolumeClaim.Refusal> => {
  const found = Arr.map(claims, (claim) => look(claim, pods))
  const groups = Arr.map(together(found, fallback, security), groupOf)
  if (destination === undefined) return Result.succeed(groups)
  const repository = look(destination, pods)
  const apart = found.find(
    ({ node }) => node !== undefined && repository.node !== undefined && node !== repository.node
  )
  return apart === undefined
    ? Result.succeed(
        Arr.map(groups, (group) => ({
          ...group,
          ...beside(repository, group, keepsGroup || security?.fsGroup !== undefined)
        }))
      )
    : Result.fail({
        reason: "VolumeInUse",
        message: `${VolumeClaim.nameOf(apart.claim.name)} is in use on node ${apart.node}, and ${VolumeClaim.nameOf(destination.name)} of spec.destination on node ${repository.node}. No pod can mount both (run their pods on one node, or keep the repository in a volume of its own)`
      })
}

/** A claim and its users. */
interface Found {
  readonly claim: VolumeClaim.VolumeClaim
  /** The pods that use it, or else the pods that its workload would create. */
  readonly users: ReadonlyArray<Usage.User>
  readonly node: string | undefined
}

const look = (claim: VolumeClaim.VolumeClaim, pods: ReadonlyArray<Pod>): Found => {
  const uses = Usage.of(claim.name, pods)
  return {
    claim,
    users: uses.length > 0 || claim.template === undefined ? uses : [claim.template],
    node: VolumeClaim.isShared(claim) ? undefined : nodeOf(uses)
  }
}

/** Two nodes are possible only while one pod ends and the next waits for the volume: the next pod's node counts. */
const nodeOf = (uses: ReadonlyArray<Usage.Use>): string | undefined => {
  const scheduled = uses.filter(({ node }) => node !== undefined)
  return (scheduled.find(({ pod }) => pod.metadata.deletionTimestamp === undefined) ?? scheduled[0])?.node
}

interface Placed extends Found {
  readonly location: string
  readonly security: Security
}

/** The claims of one pod: those of one location with the same user. */
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
      // The user of an unused claim is unknown, so it takes any user of its location.
      security: {
        ...(one.known ??
          located.find(({ known, location }) => location === one.location && known !== undefined)?.known ??
          fallback),
        ...wanted
      }
    })
  )
  const key = ({ location, security }: Placed) => `${location} ${JSON.stringify(security)}`
  return Arr.groupWith(Arr.sort(placed, Order.mapInput(Order.String, key)), (a, b) => key(a) === key(b))
}

/** Undefined: the same as the other claims. */
const locationOf = (
  { claim, node }: Found,
  all: ReadonlyArray<Found>
): `node ${string}` | `pod ${string}` | undefined => {
  if (node !== undefined) return `node ${node}`
  if (claim.together === undefined || VolumeClaim.isShared(claim)) return undefined
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

/** The node and the user of a mover that works only on the repository in a volume, with the given user. */
export const alone = (
  destination: VolumeClaim.VolumeClaim,
  {
    pods,
    security,
    wanted
  }: Pick<Options, "pods"> & { readonly security: Security; readonly wanted: Options["security"] }
): Omit<Group, "claims"> =>
  beside(look(destination, pods), { node: undefined, tolerations: [], security }, wanted?.fsGroup !== undefined)

/**
 * With the repository in a volume, the mover needs a group to write there. If other pods use that volume, the mover takes their
 * group, so that the kubelet does not change the group of their files.
 *
 * @param keeps whether the group of volumes is already decided
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

/**
 * Files without a known user count as root's, and a mover is root only if the spec requires it. The number is nonroot's of distroless
 * images.
 */
const nobody = 65_532

/** The default user. */
export const unknown: Security = { runAsUser: nobody, runAsGroup: nobody }

/** Adds a group to which the kubelet assigns written volumes. It does not change read-only volumes. */
export const withGroup = (security: Security): Security => ({
  ...security,
  fsGroup: security.fsGroup ?? security.runAsGroup ?? nobody
})

/** Adds a supplemental group, unless it is one of `already`. */
const withMember = (security: Security, group: number, already = security.fsGroup): Security =>
  group === already
    ? security
    : { ...security, supplementalGroups: [...new Set([...(security.supplementalGroups ?? []), group])] }

/** The user of the pods that use a claim, if known: the first that is not root. Undefined without users. */
const securityOf = (users: ReadonlyArray<Usage.User>): Security | undefined => {
  const seen = users.flatMap((user) => identitiesOf(user))
  return seen.find(({ runAsUser }) => runAsUser !== nobody) ?? seen[0]
}

/** The identities of the containers that mount it, or else of the pod. */
const identitiesOf = ({ spec, volume }: Usage.User): ReadonlyArray<Security> => {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].filter(({ volumeMounts }) =>
    volumeMounts?.some(({ name }) => name === volume)
  )
  const pod = spec?.securityContext
  return (containers.length === 0 ? [undefined] : containers).map((container): Security => {
    const user = container?.securityContext?.runAsUser ?? pod?.runAsUser ?? 0
    const group = container?.securityContext?.runAsGroup ?? pod?.runAsGroup
    return {
      // The user of an image is not known in the cluster.
      runAsUser: user === 0 ? nobody : user,
      ...(user === 0
        ? { runAsGroup: group === undefined || group === 0 ? nobody : group }
        : group !== undefined && { runAsGroup: group }),
      ...(pod?.fsGroup !== undefined && { fsGroup: pod.fsGroup }),
      ...(pod?.supplementalGroups !== undefined && { supplementalGroups: pod.supplementalGroups })
    }
  })
}
