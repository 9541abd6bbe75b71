/**
 * The Job of a mover: a pod that can only read its volumes (or write the restored one) and connect to its repository. It has no API
 * server token and a read-only root file system. It has no privileges, unless the spec and the namespace allow some. Pure.
 *
 * It contains only the names of Secrets: the kubelet passes their values to the container.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired, KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Duration from "effect/Duration"
import type { Backup } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import * as Protocol from "../mover/Protocol.ts"
import type * as Credentials from "../repository/Credentials.ts"
import * as Repository from "../repository/Repository.ts"
import type { Values } from "../Settings.ts"
import type * as Placement from "../volumes/Placement.ts"
import * as Outcome from "./Outcome.ts"

/** The pod settings in the specs of Backups and Restores. */
export type PodSpec = Pick<
  Backup["spec"],
  | "image"
  | "serviceAccountName"
  | "resources"
  | "nodeSelector"
  | "podMetadata"
  | "podSecurityContext"
  | "privileged"
  | "priorityClassName"
  | "tolerations"
  | "backoffLimit"
  | "activeDeadlineSeconds"
>

/** The operations of a mover, in their order. */
export type Operation = "preflight" | "unlock-all" | "backup" | "forget" | "prune" | "check" | "restore" | "delete"

/**
 * How a mover uses its repository. Restores work beside backups and other restores. Backups take turns. An exclusive mover (it creates
 * the repository, removes locks, or deletes snapshots) works alone.
 */
export type Use = "backup" | "restore" | "exclusive"

/** The use of a Job or pod. An older manager did not label them, and its runs deleted snapshots too. */
export const useOf = ({ metadata: { labels } }: KubernetesObject): Use => {
  const use = labels?.[Names.useLabel] ?? labels?.[Names.triggerLabel]
  return use === "backup" || use === "restore" ? use : "exclusive"
}

/** Whether two movers can work on one repository at the same time. */
export const agree = (one: Use, other: Use): boolean =>
  one !== "exclusive" && other !== "exclusive" && (one === "restore" || other === "restore")

/** The input of a Job. */
export interface Work {
  /** The Backup or Restore of the Job. */
  readonly owner: KubernetesObject
  readonly spec: PodSpec
  readonly name: string
  readonly trigger: string
  readonly use: Use
  readonly operations: ReadonlyArray<Operation>
  /** The parameters of the operations; see `mover/Parameters.ts`. */
  readonly parameters: { readonly [variable: string]: string | undefined }
  readonly repository: Repository.Repository
  /** The claims, and whether they are read-only. */
  readonly claims: ReadonlyArray<{ readonly name: string; readonly readOnly: boolean }>
  readonly placement: Omit<Placement.Group, "claims">
  readonly credentials: Credentials.Mounts
  readonly annotations: { readonly [name: string]: string | undefined }
}

/** The settings of the program for movers. */
export type MoverSettings = Pick<Values, "moverImage" | "preflightTimeout" | "cacheSize" | "temporarySize">

/**
 * The name of a Job, at most 63 characters, because it becomes a label: the owner's name (shortened with eight digits of its hash if
 * needed) and the run's ID.
 */
export const nameOf = (owner: string, run: string): string => {
  const room = 62 - run.length
  const plain = owner.replaceAll(".", "-")
  const base = plain === owner && owner.length <= room ? owner : `${plain.slice(0, room - 9)}-${shortHash(owner)}`
  return `${base}-${run}`
}

/** Eight hexadecimal digits. */
export const shortHash = (text: string): string => Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, 8)

/** The node on which the pods of a Job must run; undefined: the scheduler chooses. */
export const nodeOf = ({ spec }: Job): string | undefined => {
  const required = spec?.template.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required?.nodeSelectorTerms[0]?.matchFields?.find(({ key }) => key === nodeField)?.values?.[0]
}

const nodeField = "metadata.name"

/** The affinity of pods that must run on the node: what `nodeOf` reads. */
export const onNode = (node: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: nodeField, operator: "In", values: [node] }] }]
    }
  }
})

/** The container of the mover in a Job. */
export const containerOf = ({ spec }: Job) => spec?.template.spec?.containers.find(({ name }) => name === container)

/** The mover of a Job: its image, and the protocol that its arguments ask for. */
export const moverOf = (job: Job): { readonly image: string; readonly protocol: number } => {
  const made = containerOf(job)
  return { image: made?.image ?? "", protocol: Protocol.of(made?.args ?? []) }
}

/** The mount path of a claim. Names of claims are valid in paths. */
export const dataPath = (claim: string): string => `/data/${claim}`

const scratch = ({ cacheSize, temporarySize }: MoverSettings) => [
  // restic's index of the repository; without it, each run downloads the index.
  { name: "cache", path: "/cache", sizeLimit: cacheSize },
  { name: "tmp", path: "/tmp", sizeLimit: temporarySize }
]

/** The Job. */
export const desired = (work: Work, settings: MoverSettings): Desired<Job> => {
  const { credentials, owner, placement, repository, spec } = work
  const { destination } = repository
  const labels = {
    ...Names.moverLabels,
    [Names.ownerLabel]: owner.metadata.uid,
    [Names.repositoryLabel]: repository.hash,
    [Names.triggerLabel]: work.trigger,
    [Names.useLabel]: work.use
  }
  const env = {
    RESTIC_REPOSITORY: repository.url,
    RESTIC_CACHE_DIR: "/cache",
    TMPDIR: "/tmp",
    // restic needs a home folder, and the user may have none.
    HOME: "/tmp",
    DATA_DIR: "/data",
    RESULT: "/dev/termination-log",
    // Times are compared as text.
    TZ: "UTC",
    PREFLIGHT_TIMEOUT: `${Math.round(Duration.toSeconds(settings.preflightTimeout))}`,
    RETRY_LOCK: "5m",
    ...work.parameters
  }
  const volumes = [
    ...work.claims.map(({ name, readOnly }, index) => ({
      // A volume's name is a DNS label, and a claim's name may be longer. Read-only for the whole pod, so that the kubelet does not
      // change groups and labels of the files.
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
    ...scratch(settings).map(({ name, path, sizeLimit }) => ({
      volume: { name, emptyDir: { sizeLimit } },
      mount: { name, mountPath: path }
    }))
  ]
  const tolerations = [...placement.tolerations, ...(spec.tolerations ?? [])]
  return {
    metadata: {
      name: work.name,
      ...(owner.metadata.namespace !== undefined && { namespace: owner.metadata.namespace }),
      labels: { ...labels, [Names.nameLabel]: Names.jobName(work.trigger) },
      annotations: present(work.annotations),
      ownerReferences: [
        {
          apiVersion: owner.apiVersion ?? "",
          kind: owner.kind ?? "",
          name: owner.metadata.name,
          uid: owner.metadata.uid,
          // Without `blockOwnerDeletion`, which needs an extra permission in some clusters: the finalizer waits for movers.
          controller: true
        }
      ]
    },
    spec: {
      backoffLimit: spec.backoffLimit,
      activeDeadlineSeconds: spec.activeDeadlineSeconds,
      // Waits for a terminating pod, because two movers of one run would conflict at the repository.
      podReplacementPolicy: "Failed",
      podFailurePolicy: {
        rules: [
          // Evictions and lost nodes do not count as failures.
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
          // A retry would fail in the same way.
          {
            action: "FailJob",
            onExitCodes: { containerName: container, operator: "In", values: [...Outcome.futile] }
          }
        ]
      },
      template: {
        metadata: {
          annotations: { ...withoutSidecars.annotations, ...spec.podMetadata?.annotations },
          labels: {
            ...withoutSidecars.labels,
            ...spec.podMetadata?.labels,
            ...labels,
            // The label for Azure's webhook, which adds the identity.
            ...(destination._tag === "Azure" &&
              spec.serviceAccountName !== undefined && { "azure.workload.identity/use": "true" })
          }
        },
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
          // restic releases its lock when it is terminated.
          terminationGracePeriodSeconds: 60,
          securityContext: {
            runAsNonRoot: placement.security.runAsUser !== 0 && spec.privileged !== true,
            ...placement.security,
            ...(spec.privileged === true && { runAsUser: 0, runAsGroup: 0 }),
            // Large volumes are not changed recursively if their root already matches.
            ...(placement.security.fsGroup !== undefined && { fsGroupChangePolicy: "OnRootMismatch" }),
            ...(spec.podSecurityContext?.seLinuxOptions !== undefined && {
              seLinuxOptions: spec.podSecurityContext.seLinuxOptions
            }),
            seccompProfile: { type: "RuntimeDefault" }
          },
          ...(spec.priorityClassName !== undefined && { priorityClassName: spec.priorityClassName }),
          ...(spec.nodeSelector !== undefined && { nodeSelector: spec.nodeSelector }),
          ...(placement.node !== undefined && { affinity: onNode(placement.node) }),
          ...(tolerations.length > 0 && { tolerations }),
          volumes: [...volumes.map(({ volume }) => volume), ...credentials.volumes],
          containers: [
            {
              name: container,
              image: spec.image ?? settings.moverImage,
              args: [Protocol.operation, ...work.operations],
              env: [
                ...Object.entries(present(env)).map(([name, value]) => ({
                  name,
                  // The kubelet expands variables in $(NAME), and $$ is a dollar.
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
                capabilities: {
                  drop: ["ALL"],
                  ...(spec.privileged === true && {
                    add: [...capabilities[work.use === "restore" ? "restore" : "backup"]]
                  })
                }
              }
            }
          ]
        }
      }
    }
  }
}

/** A sidecar outlives the mover, and the Job would not end. */
const withoutSidecars = {
  labels: { "sidecar.istio.io/inject": "false" },
  annotations: { "linkerd.io/inject": "disabled" }
} as const

/** The capabilities of a privileged mover. The baseline of Pod Security allows them. Volumes that are saved are read-only. */
export const capabilities = {
  backup: ["DAC_OVERRIDE"],
  restore: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"]
} as const

/** The mover's container. */
export const container = "mover"

const present = (values: { readonly [name: string]: string | undefined }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(values).flatMap(
      ([name, value]): ReadonlyArray<[string, string]> => (value === undefined ? [] : [[name, value]])
    )
  )
