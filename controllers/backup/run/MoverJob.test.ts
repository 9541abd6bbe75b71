import { describe, expect, test } from "bun:test"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as Environment from "@homeostat/testkit/kubelet/Environment"
import * as Result from "effect/Result"
import * as Names from "../kinds/Names.ts"
import * as Credentials from "../repository/Credentials.ts"
import * as Settings from "../Settings.ts"
import type * as Placement from "../volumes/Placement.ts"
import { backup, group, understood } from "./Backups.fixture.ts"
import * as MoverJob from "./MoverJob.ts"
import * as Outcome from "./Outcome.ts"
import { restricted } from "./PodSecurity.fixture.ts"

const dns = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

describe("MoverJob.nameOf", () => {
  test("joins the owner and the run", () => expect(MoverJob.nameOf("cart", "29393880")).toBe("cart-29393880"))
  test("is deterministic", () =>
    expect(MoverJob.nameOf("x".repeat(253), "29393880")).toBe(MoverJob.nameOf("x".repeat(253), "29393880")))
  for (const owner of [
    "a",
    "cart",
    "x".repeat(53),
    "x".repeat(54),
    "x".repeat(253),
    "a.b.c",
    `${"a.".repeat(126)}a`,
    `${"x".repeat(43)}-${"y".repeat(100)}`
  ]) {
    for (const run of ["29393880", "1763600461", "m0123abcd-12", "29393880x0123abcd-2", "restore"]) {
      test(`fits into a label: ${owner.slice(0, 60)} ${run}`, () => {
        const name = MoverJob.nameOf(owner, run)
        expect(name.length).toBeLessThanOrEqual(63)
        expect(name).toMatch(dns)
        expect(name).toEndWith(`-${run}`)
      })
    }
  }
  test("shortens long names with the same prefix without collisions", () =>
    expect(MoverJob.nameOf(`${"x".repeat(100)}a`, "1")).not.toBe(MoverJob.nameOf(`${"x".repeat(100)}b`, "1")))
  test("distinguishes a name with dots from one with dashes", () => {
    expect(MoverJob.nameOf("a-b", "1")).toBe("a-b-1")
    expect(MoverJob.nameOf("a.b", "1")).toMatch(/^a-b-[0-9a-f]{8}-1$/)
    expect(MoverJob.nameOf("a.b.c", "1")).not.toBe(MoverJob.nameOf("a.b-c", "1"))
  })
  test("uses the whole length of a label before it shortens a name", () => {
    expect(MoverJob.nameOf("x".repeat(61), "1")).toBe(`${"x".repeat(61)}-1`)
    expect(MoverJob.nameOf("x".repeat(62), "1")).toMatch(/^x{52}-[0-9a-f]{8}-1$/)
  })
  test("keeps the parts of a run distinct", () =>
    expect(new Set(["1", "1-2", "1-3"].map((run) => MoverJob.nameOf("x".repeat(253), run))).size).toBe(3))
})

const secret = [
  "RESTIC_PASSWORD",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AZURE_ACCOUNT_NAME",
  "AZURE_ACCOUNT_KEY"
]

const work = ({
  spec = {},
  placement = {},
  ...over
}: Partial<Omit<MoverJob.Work, "spec" | "placement">> & {
  readonly spec?: { readonly [field: string]: unknown }
  readonly placement?: Partial<Placement.Group>
} = {}): MoverJob.Work => {
  const owner = backup(spec)
  const { repository } = understood(owner)
  return {
    owner,
    spec: owner.spec,
    name: "cart-29393880",
    trigger: "schedule",
    use: "backup",
    operations: ["preflight", "backup", "forget"],
    parameters: { BACKUP_HOST: "shop", INIT: undefined, FORGET_ARGS: "--keep-last 3" },
    repository,
    claims: [{ name: "data", readOnly: true }],
    placement: { ...group("data"), ...placement },
    credentials: Result.getOrThrow(
      Credentials.mounts({
        destination: repository.destination,
        references: Credentials.references("cart", owner.spec.repository),
        secrets: new Map([
          ["cart-backup-credentials", secret],
          ["ca", ["ca.crt"]]
        ]),
        ownIdentity: false
      })
    ),
    annotations: { "backup.example.com/run-id": "29393880", "backup.example.com/token": undefined },
    ...over
  }
}

const podOf = (job: Desired<Job>) => {
  const spec = job.spec?.template.spec
  const container = spec?.containers[0]
  if (spec === undefined || container === undefined) throw new Error("it has no container")
  return { spec, container }
}
const made = (...args: Parameters<typeof work>) => podOf(MoverJob.desired(work(...args), Settings.defaults))
const envOf = (...args: Parameters<typeof work>) =>
  Object.fromEntries(
    (made(...args).container.env ?? []).map(({ name, value, valueFrom }) => [name, value ?? valueFrom])
  )

describe("The mover has only the permissions that it needs:", () => {
  test("it meets the restricted Pod Security level", () => {
    expect(restricted(made().spec)).toEqual([])
    expect(
      restricted(made({ placement: { security: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 } } }).spec)
    ).toEqual([])
    expect(restricted(made({ spec: { destination: "pvc://backups/cart" } }).spec)).toEqual([])
    expect(restricted(made({ spec: { repository: { caSecretRef: { name: "ca" } } } }).spec)).toEqual([])
  })
  test("it violates the restricted level only if the user asks for root", () =>
    expect(restricted(made({ placement: { security: { runAsUser: 0, runAsGroup: 0 } } }).spec)).toEqual([
      "runAsNonRoot is not true",
      "runAsUser is 0"
    ]))
  test("a privileged mover is root, with few capabilities, and meets the baseline Pod Security level", () => {
    for (const [use, add] of [
      ["backup", ["DAC_OVERRIDE"]],
      ["exclusive", ["DAC_OVERRIDE"]],
      ["restore", ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"]]
    ] as const) {
      const { container, spec } = made({ use, spec: { privileged: true } })
      expect(restricted(spec)).toEqual(["runAsNonRoot is not true", "runAsUser is 0", "adds capabilities"])
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"], add: [...add] }
      })
    }
  })
  test("it has no API token and no service environment variables", () =>
    expect(made({ spec: { serviceAccountName: "cloud" } }).spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      serviceAccountName: "cloud"
    }))
  test("it has the Azure label for a workload identity if it has a ServiceAccount", () => {
    const labelsOf = (spec: { readonly [field: string]: unknown }) =>
      MoverJob.desired(work({ spec }), Settings.defaults).spec?.template.metadata?.labels ?? {}
    const label = { "azure.workload.identity/use": "true" }
    const azure = { destination: "azure://backups/shop" }
    expect(labelsOf({ ...azure, serviceAccountName: "cloud" })).toMatchObject(label)
    expect(labelsOf(azure)).not.toMatchObject(label)
    expect(labelsOf({ serviceAccountName: "cloud" })).not.toMatchObject(label)
  })
  test("it mounts its volumes read-only, and can write only to scratch space", () => {
    const { container, spec } = made({ claims: ["a", "b"].map((name) => ({ name, readOnly: true })) })
    expect(container.volumeMounts).toEqual([
      { name: "data-0", mountPath: "/data/a", readOnly: true },
      { name: "data-1", mountPath: "/data/b", readOnly: true },
      { name: "cache", mountPath: "/cache" },
      { name: "tmp", mountPath: "/tmp" }
    ])
    expect(spec.volumes).toEqual([
      { name: "data-0", persistentVolumeClaim: { claimName: "a", readOnly: true } },
      { name: "data-1", persistentVolumeClaim: { claimName: "b", readOnly: true } },
      { name: "cache", emptyDir: { sizeLimit: "10Gi" } },
      { name: "tmp", emptyDir: { sizeLimit: "1Gi" } }
    ])
    expect(container.securityContext?.readOnlyRootFilesystem).toBe(true)
  })
  test("it can write to the restored volume and to a destination volume", () => {
    const { container, spec } = made({
      spec: { destination: "pvc://backups/cart" },
      claims: [{ name: "target", readOnly: false }]
    })
    expect(spec.volumes?.slice(0, 2)).toEqual([
      { name: "data-0", persistentVolumeClaim: { claimName: "target" } },
      { name: "repository", persistentVolumeClaim: { claimName: "backups" } }
    ])
    expect(container.volumeMounts?.slice(0, 2)).toEqual([
      { name: "data-0", mountPath: "/data/target" },
      { name: "repository", mountPath: "/repository" }
    ])
  })
  test("its volumes have short names, even if the claims have long ones", () => {
    const name = `${"long-".repeat(50)}x`
    const { spec } = made({ claims: [{ name, readOnly: true }] })
    expect(spec.volumes?.[0]).toEqual({ name: "data-0", persistentVolumeClaim: { claimName: name, readOnly: true } })
    for (const volume of spec.volumes ?? []) expect(volume.name.length).toBeLessThanOrEqual(63)
  })
})

describe("The mover container", () => {
  test("gets only its operations as arguments, with the entrypoint of the image", () => {
    const { container } = made()
    expect(container.args).toEqual(["protocol-2", "preflight", "backup", "forget"])
    expect(container.command).toBeUndefined()
  })
  test("gets the parameters of its script as variables", () =>
    expect(envOf()).toEqual({
      RESTIC_REPOSITORY: "s3:s3.amazonaws.com/bucket/shop/cart",
      RESTIC_CACHE_DIR: "/cache",
      TMPDIR: "/tmp",
      HOME: "/tmp",
      DATA_DIR: "/data",
      RESULT: "/dev/termination-log",
      TZ: "UTC",
      PREFLIGHT_TIMEOUT: "40",
      RETRY_LOCK: "5m",
      BACKUP_HOST: "shop",
      FORGET_ARGS: "--keep-last 3",
      RESTIC_PASSWORD: { secretKeyRef: { name: "cart-backup-credentials", key: "RESTIC_PASSWORD" } },
      AWS_ACCESS_KEY_ID: { secretKeyRef: { name: "cart-backup-credentials", key: "AWS_ACCESS_KEY_ID" } },
      AWS_SECRET_ACCESS_KEY: { secretKeyRef: { name: "cart-backup-credentials", key: "AWS_SECRET_ACCESS_KEY" } }
    }))
  test("gets values with $ unexpanded", () => {
    const job = MoverJob.desired({ ...work(), parameters: { EXCLUDES: "a$$b\n$(HOME)" } }, Settings.defaults)
    const excludes = podOf(job).container.env?.find(({ name }) => name === "EXCLUDES")?.value ?? ""
    expect(excludes).toBe("a$$$$b\n$$(HOME)")
    expect(Environment.expand(excludes, { HOME: "/tmp" })).toBe("a$$b\n$(HOME)")
  })
  test("gets each variable once", () => {
    const names = (
      made({ spec: { repository: { caSecretRef: { name: "ca" }, region: "eu-central-1" } } }).container.env ?? []
    ).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
  test("gets the mount path of a repository in a volume", () =>
    expect(envOf({ spec: { destination: "pvc://backups/a" } }).RESTIC_REPOSITORY).toBe("/repository/a/shop/cart"))
  test("gets secret values only by reference", () => {
    const { env } = made().container
    const literal = (env ?? []).filter(({ value }) => value !== undefined).map(({ name }) => name)
    for (const name of secret) expect(literal).not.toContain(name)
  })
})

describe("MoverJob places the mover", () => {
  test("on the node of its volume, without reading Nodes", () =>
    expect(made({ placement: { node: "node-a" } }).spec.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["node-a"] }] }]
        }
      }
    }))
  test("on any node, if the volume is unused", () => {
    const { spec } = made()
    expect(spec.affinity).toBeUndefined()
    expect(spec.tolerations).toBeUndefined()
    expect(spec.nodeSelector).toBeUndefined()
  })
  test("with the tolerations of the pods that use the volume and those of the spec", () =>
    expect(
      made({
        spec: { tolerations: [{ key: "own", operator: "Exists" }], nodeSelector: { disk: "fast" } },
        placement: { tolerations: [{ key: "pods", operator: "Exists", effect: "NoSchedule" }] }
      }).spec
    ).toMatchObject({
      tolerations: [
        { key: "pods", operator: "Exists", effect: "NoSchedule" },
        { key: "own", operator: "Exists" }
      ],
      nodeSelector: { disk: "fast" }
    }))
  test("with the fsGroup of its volumes, applied only on a root mismatch", () =>
    expect(made({ placement: { security: { runAsUser: 7, fsGroup: 8 } } }).spec.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 7,
      fsGroup: 8,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" }
    }))
})

describe("The pod of a mover", () => {
  const template = (spec: { readonly [field: string]: unknown }) =>
    MoverJob.desired(work({ spec }), Settings.defaults).spec?.template
  test("disables the sidecars of Istio and Linkerd, unless the spec enables them", () => {
    expect(template({})?.metadata).toMatchObject({
      labels: { "sidecar.istio.io/inject": "false" },
      annotations: { "linkerd.io/inject": "disabled" }
    })
    const podMetadata = {
      labels: { "sidecar.istio.io/inject": "true" },
      annotations: { "linkerd.io/inject": "enabled" }
    }
    expect(template({ podMetadata })?.metadata).toMatchObject(podMetadata)
  })
  test("has the labels and annotations of the spec, and keeps those of Homeostat", () => {
    const [label = ""] = Object.keys(Names.moverLabels)
    const podMetadata = { labels: { team: "shop", [label]: "other" }, annotations: { note: "n" } }
    expect(template({ podMetadata })?.metadata).toMatchObject({
      labels: { team: "shop", ...Names.moverLabels },
      annotations: { note: "n" }
    })
  })
  test("has the priority class and the SELinux options of the spec", () => {
    const seLinuxOptions = { level: "s0:c1,c2" }
    const spec = template({ priorityClassName: "low", podSecurityContext: { seLinuxOptions } })?.spec
    expect([spec?.priorityClassName, spec?.securityContext?.seLinuxOptions]).toEqual(["low", seLinuxOptions])
    expect(template({})?.spec).not.toHaveProperty("priorityClassName")
  })
})

describe("A manager of 0.1.0, which takes each Job of a Backup with the labels of a mover for a run,", () => {
  const known = ["start", "schedule", "manual", "unlock", "retry", "restore", "delete"]
  for (const trigger of [...known, Names.maintenanceTrigger]) {
    const isKnown = known.includes(trigger)
    test(`${isKnown ? "sees" : "does not see"} a Job with the trigger ${trigger}, and sees its pod`, () => {
      const { metadata, spec } = MoverJob.desired(work({ trigger }), Settings.defaults)
      const seen = ({ labels = {} }: { readonly labels?: { readonly [label: string]: string } }) =>
        labels["app.kubernetes.io/name"] === "homeostat-mover" && labels["app.kubernetes.io/managed-by"] === "homeostat"
      expect([seen(metadata), seen(spec?.template.metadata ?? {})]).toEqual([isKnown, true])
      // By this label it finds the Job on the server, and waits for it.
      expect(metadata.labels).toHaveProperty(["backup.example.com/repository"])
    })
  }
})

describe("The Job of a mover", () => {
  const job = MoverJob.desired(work(), Settings.defaults)
  test("has an owner reference and valid labels", () => {
    expect(job.metadata).toMatchObject({
      name: "cart-29393880",
      namespace: "shop",
      labels: {
        "app.kubernetes.io/name": "homeostat-mover",
        "app.kubernetes.io/managed-by": "homeostat",
        "backup.example.com/owner": work().owner.metadata.uid,
        "backup.example.com/repository": work().repository.hash,
        "backup.example.com/trigger": "schedule"
      },
      ownerReferences: [
        {
          apiVersion: "backup.example.com/v1",
          kind: "Backup",
          name: "cart",
          uid: work().owner.metadata.uid,
          controller: true
        }
      ]
    })
    expect(job.spec?.template.metadata?.labels).toMatchObject(job.metadata.labels ?? {})
    for (const value of Object.values(job.metadata.labels ?? {})) {
      expect(value).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/)
    }
  })
  test("has no empty annotation", () =>
    expect(job.metadata.annotations).toEqual({ "backup.example.com/run-id": "29393880" }))
  test("has the deadline and the backoff limit of the spec", () =>
    expect(
      MoverJob.desired(work({ spec: { activeDeadlineSeconds: 3600, backoffLimit: 5 } }), Settings.defaults).spec
    ).toMatchObject({
      activeDeadlineSeconds: 3600,
      backoffLimit: 5
    }))
  test("ignores evictions, and fails at once on permanent errors", () =>
    expect(job.spec?.podFailurePolicy).toEqual({
      rules: [
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        { action: "FailJob", onExitCodes: { containerName: "mover", operator: "In", values: [...Outcome.futile] } }
      ]
    }))
  test("replaces a pod only after it has failed, because the podFailurePolicy requires it", () => {
    expect(job.spec?.podReplacementPolicy).toBe("Failed")
    expect(podOf(job).spec.restartPolicy).toBe("Never")
  })
  test("gives restic time to release its lock, and keeps the termination message", () => {
    expect(podOf(job).spec.terminationGracePeriodSeconds).toBe(60)
    expect(podOf(job).container.terminationMessagePolicy).toBe("FallbackToLogsOnError")
  })
  test("has no TTL, so that it exists until the manager has read its result", () =>
    expect(job.spec?.ttlSecondsAfterFinished).toBeUndefined())
  test("runs the image of the spec, else that of the manager", () => {
    expect(podOf(job).container.image).toBe("homeostat-mover:0.2.0-dev")
    expect(made({ spec: { image: "mirror/mover:2" } }).container.image).toBe("mirror/mover:2")
  })
  test("has the resources of the spec", () =>
    expect(made({ spec: { resources: { limits: { memory: "1Gi" } } } }).container.resources).toEqual({
      limits: { memory: "1Gi" }
    }))
})

test("the settings limit the cache and the temporary files", () => {
  const settings = Settings.of({ cacheSize: "50Gi", temporarySize: "5Gi" })
  const { spec } = podOf(MoverJob.desired(work(), settings))
  expect(spec.volumes?.flatMap(({ emptyDir }) => emptyDir?.sizeLimit ?? [])).toEqual(["50Gi", "5Gi"])
})
