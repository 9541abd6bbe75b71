/**
 * The Job of a mover: one pod that may do nothing but read its volumes (or write the one that is restored) and talk to its
 * repository. It has no token of the API server, no right to become more than it is, and a file system that it cannot write.
 * Pure.
 *
 * Of secrets, it has names only: their values go from the Secret to the container, past the controller.
 */
import { createHash } from "node:crypto"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired, KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Backup } from "./Backup.ts"
import type * as Credentials from "./Credentials.ts"
import * as Names from "./Names.ts"
import * as Outcome from "./Outcome.ts"
import type * as Placement from "./Placement.ts"
import * as Repository from "./Repository.ts"

/** What the pods of Backups and Restores may be given by their specs. */
export type PodSpec = Pick<
  Backup["spec"],
  | "image"
  | "serviceAccountName"
  | "resources"
  | "nodeSelector"
  | "tolerations"
  | "backoffLimit"
  | "activeDeadlineSeconds"
>

/** What a mover can be asked for, in this order. */
export type Operation = "preflight" | "unlock-all" | "backup" | "forget" | "prune" | "check" | "restore" | "delete"

/** What a Job is made from. */
export interface Work {
  /** The Backup or Restore that it belongs to. */
  readonly owner: KubernetesObject
  readonly spec: PodSpec
  readonly name: string
  readonly trigger: string
  readonly operations: ReadonlyArray<Operation>
  /** What the operations need to know; see `mover/mover.sh`. */
  readonly parameters: { readonly [variable: string]: string | undefined }
  readonly repository: Repository.Repository
  /** Claims, and whether they are only read. */
  readonly claims: ReadonlyArray<{ readonly name: string; readonly readOnly: boolean }>
  readonly placement: Omit<Placement.Group, "claims">
  readonly credentials: Credentials.Mounts
  readonly annotations: { readonly [name: string]: string | undefined }
  /** If the spec names none. */
  readonly image: string
  readonly preflightSeconds: number
}

/**
 * The name of a Job, at most 63 characters (it becomes a label): that of its owner, cut if it must be and then told apart by
 * eight digits of its hash, and what tells its runs apart.
 */
export const nameOf = (owner: string, run: string): string => {
  const room = 62 - run.length
  const plain = owner.replaceAll(".", "-")
  const base = plain === owner && owner.length <= room ? owner : `${plain.slice(0, room - 9)}-${shortHash(owner)}`
  return `${base}-${run}`
}

/** Eight hexadecimal digits. */
export const shortHash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8)

/** Where a claim is mounted. Names of claims have no characters that a path could not have. */
export const dataPath = (claim: string): string => `/data/${claim}`

const scratch = [
  // restic keeps an index of the repository here; without it, it is downloaded for each run anyway.
  { name: "cache", path: "/cache", sizeLimit: "10Gi" },
  { name: "tmp", path: "/tmp", sizeLimit: "1Gi" }
]

/** The Job. */
export const desired = (work: Work): Desired<Job> => {
  const { credentials, owner, placement, repository, spec } = work
  const { destination } = repository
  const labels = {
    ...Names.moverLabels,
    [Names.ownerLabel]: owner.metadata.uid,
    [Names.repositoryLabel]: repository.hash,
    [Names.triggerLabel]: work.trigger
  }
  const env = {
    RESTIC_REPOSITORY: repository.url,
    RESTIC_CACHE_DIR: "/cache",
    TMPDIR: "/tmp",
    // restic looks for a home, and the user may have none.
    HOME: "/tmp",
    DATA_DIR: "/data",
    RESULT: "/dev/termination-log",
    // Times are compared as text.
    TZ: "UTC",
    PREFLIGHT_TIMEOUT: `${work.preflightSeconds}`,
    RETRY_LOCK: "5m",
    ...work.parameters
  }
  const volumes = [
    ...work.claims.map(({ name, readOnly }, index) => ({
      // A volume's name is a DNS label, and a claim's may be longer.
      // Read-only for the pod too, not only for its container: the kubelet then leaves the files' groups and labels alone.
      volume: { name: `data-${index}`, persistentVolumeClaim: { claimName: name, ...(readOnly && { readOnly }) } },
      mount: { name: `data-${index}`, mountPath: dataPath(name), ...(readOnly && { readOnly }) }
    })),
    ...(destination._tag === "Pvc"
      ? [
          {
            volume: { name: "repository", persistentVolumeClaim: { claimName: destination.claim } },
            mount: { name: "repository", mountPath: Repository.mountPath }
          }
        ]
      : []),
    ...scratch.map(({ name, path, sizeLimit }) => ({
      volume: { name, emptyDir: { sizeLimit } },
      mount: { name, mountPath: path }
    }))
  ]
  const tolerations = [...placement.tolerations, ...(spec.tolerations ?? [])]
  return {
    metadata: {
      name: work.name,
      ...(owner.metadata.namespace !== undefined && { namespace: owner.metadata.namespace }),
      labels,
      annotations: present(work.annotations),
      ownerReferences: [
        {
          apiVersion: owner.apiVersion ?? "",
          kind: owner.kind ?? "",
          name: owner.metadata.name,
          uid: owner.metadata.uid,
          // Without `blockOwnerDeletion`, for which some clusters want a right of its own: the finalizer waits for movers.
          controller: true
        }
      ]
    },
    spec: {
      backoffLimit: spec.backoffLimit,
      activeDeadlineSeconds: spec.activeDeadlineSeconds,
      // One that is asked to end is awaited: two movers of one run would meet at the repository.
      podReplacementPolicy: "Failed",
      podFailurePolicy: {
        rules: [
          // Evictions and lost nodes are nobody's failure, and cost no try.
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
          // The next try would end in the same way.
          {
            action: "FailJob",
            onExitCodes: { containerName: container, operator: "In", values: [...Outcome.futile] }
          }
        ]
      },
      template: {
        metadata: {
          labels: {
            ...labels,
            // By which Azure's webhook knows whom to give an identity.
            ...(destination._tag === "Azure" &&
              spec.serviceAccountName !== undefined && { "azure.workload.identity/use": "true" })
          }
        },
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
          // restic gives its lock back when it is asked to end.
          terminationGracePeriodSeconds: 60,
          securityContext: {
            runAsNonRoot: placement.security.runAsUser !== 0,
            ...placement.security,
            // Large volumes are not walked through for it where that can be seen to be needless.
            ...(placement.security.fsGroup !== undefined && { fsGroupChangePolicy: "OnRootMismatch" }),
            seccompProfile: { type: "RuntimeDefault" }
          },
          ...(spec.nodeSelector !== undefined && { nodeSelector: spec.nodeSelector }),
          ...(placement.node !== undefined && {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [
                    { matchFields: [{ key: "metadata.name", operator: "In", values: [placement.node] }] }
                  ]
                }
              }
            }
          }),
          ...(tolerations.length > 0 && { tolerations }),
          volumes: [...volumes.map(({ volume }) => volume), ...credentials.volumes],
          containers: [
            {
              name: container,
              image: spec.image ?? work.image,
              args: [...work.operations],
              env: [
                ...Object.entries(present(env)).map(([name, value]) => ({
                  name,
                  // The kubelet puts in variables for $(NAME), and takes $$ for a dollar.
                  value: value.replaceAll("$", "$$$$")
                })),
                ...credentials.env
              ],
              volumeMounts: [...volumes.map(({ mount }) => mount), ...credentials.volumeMounts],
              ...(spec.resources !== undefined && { resources: spec.resources }),
              terminationMessagePolicy: "FallbackToLogsOnError",
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] }
              }
            }
          ]
        }
      }
    }
  }
}

/** The mover's container. */
export const container = "mover"

const present = (values: { readonly [name: string]: string | undefined }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(values).flatMap(
      ([name, value]): ReadonlyArray<[string, string]> => (value === undefined ? [] : [[name, value]])
    )
  )
