import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import { desiredDeployment } from "./children.ts"
import type { Entry } from "./Jobs.ts"
import * as JobTemplate from "./JobTemplate.ts"
import type { WebApp } from "./WebApp.ts"

const of = (name: string, spec: Partial<WebApp["spec"]> = {}): WebApp => ({
  metadata: { name, namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "2026-11-20T08:00:00Z" },
  spec: { image: "nginx:1.27", replicas: 2, port: 8080, ...spec }
})

const migrate: Entry = { name: "migrate", command: ["migrate"] }

const nameOf = (app: WebApp, entry: Entry = migrate) => JobTemplate.nameOf(app, entry, desiredDeployment(app))

describe("the name of a Job", () => {
  test("has the names of the WebApp and of the job", () =>
    expect(nameOf(of("shop"))).toMatch(/^shop-migrate-[0-9a-f]{10}$/))

  test("fits into a label at the longest names", () => {
    const name = nameOf(of("a".repeat(63)), { ...migrate, name: "b".repeat(63) })
    expect(name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
    expect(nameOf(of("a".repeat(51)), migrate)).toMatch(/^a{51}--[0-9a-f]{10}$/)
  })

  test("differs for two WebApps and jobs whose names look the same when joined", () =>
    expect(nameOf(of("a-b"), { ...migrate, name: "c" })).not.toBe(nameOf(of("a"), { ...migrate, name: "b-c" })))

  test("differs for two WebApps with the same first 52 characters", () =>
    expect(nameOf(of(`${"a".repeat(60)}b`))).not.toBe(nameOf(of(`${"a".repeat(60)}c`))))

  for (const [field, spec] of [
    ["image", { image: "nginx:1.28" }],
    ["command", { command: ["nginx"] }],
    ["variables", { env: [{ name: "MODE", value: "shop" }] }],
    ["volumes", { volumes: [{ name: "tmp", emptyDir: {}, mountPath: "/tmp" }] }],
    ["annotations of the pods", { podTemplate: { metadata: { annotations: { revision: "2" } } } }]
  ] as const) {
    test(`changes with the ${field}`, () => expect(nameOf(of("shop", spec))).not.toBe(nameOf(of("shop"))))
  }

  for (const [field, spec] of [
    ["replicas", { replicas: 5 }],
    ["strategy", { strategy: "Recreate" }]
  ] as const) {
    test(`does not change with the ${field}`, () => expect(nameOf(of("shop", spec))).toBe(nameOf(of("shop"))))
  }

  test("changes with the job, so that a corrected job runs", () => {
    for (const change of [{ command: ["up"] }, { args: ["-v"] }, { retries: 0 }, { timeoutSeconds: 9 }]) {
      expect(nameOf(of("shop"), { ...migrate, ...change })).not.toBe(nameOf(of("shop")))
    }
  })

  test("does not depend on the order of the fields", () => {
    const template = (pod: object) => ({ podTemplate: { spec: pod } })
    const one = template({ hostname: "a", tolerations: [{ key: "spot", operator: "Exists" }] })
    const other = template({ tolerations: [{ operator: "Exists", key: "spot" }], hostname: "a" })
    expect(nameOf(of("shop", one))).toBe(nameOf(of("shop", other)))
  })
})

describe("the Job", () => {
  const podTemplate = {
    metadata: { labels: { team: "a", tier: "web" }, annotations: { "example.test/note": "a" } },
    spec: {
      nodeSelector: { disk: "ssd" },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      initContainers: [{ name: "proxy", image: "registry.test/proxy:1", restartPolicy: "Always" }],
      containers: [
        { name: "app", tty: true, lifecycle: { postStart: { exec: { command: ["warm"] } } } },
        { name: "metrics", image: "registry.test/metrics:1" }
      ]
    }
  }
  const app = of("shop", {
    command: ["nginx"],
    args: ["-g"],
    env: [{ name: "MODE", value: "shop" }],
    probes: { liveness: { tcp: {} } },
    security: "Restricted",
    serviceAccountName: "shop",
    volumes: [{ name: "data", claim: "shop", mountPath: "/data" }],
    podTemplate
  })
  const jobOf = (entry: Entry, existing?: Deployment) => {
    const deployment: Desired<Deployment> = desiredDeployment(app, { existing })
    return JobTemplate.desired(app, entry, deployment, "app")
  }
  const { metadata, spec } = jobOf({ ...migrate, args: ["up"], retries: 0, timeoutSeconds: 60 })
  const pod = spec?.template.spec

  test("has the environment of the pods, and its own program", () => {
    expect(pod).toMatchObject({
      restartPolicy: "Never",
      serviceAccountName: "shop",
      nodeSelector: { disk: "ssd" },
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "shop" } }]
    })
    expect(pod?.containers).toEqual([
      {
        name: "app",
        image: "nginx:1.27",
        tty: true,
        command: ["migrate"],
        args: ["up"],
        env: [{ name: "MODE", value: "shop" }],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: [{ name: "data", mountPath: "/data" }]
      }
    ])
    expect(jobOf(migrate).spec?.template.spec?.containers[0]).not.toHaveProperty("args")
  })

  test("keeps init containers such as a native sidecar, and has no spread constraints", () => {
    expect(pod?.initContainers).toMatchObject(podTemplate.spec.initContainers)
    expect(pod).not.toHaveProperty("topologySpreadConstraints")
  })

  test("has the time and the retries of the job, and stays after its end", () => {
    expect(spec).toMatchObject({ activeDeadlineSeconds: 60, backoffLimit: 0, podReplacementPolicy: "Failed" })
    expect(spec).not.toHaveProperty("ttlSecondsAfterFinished")
    expect(jobOf(migrate).spec).toMatchObject({ activeDeadlineSeconds: 3600, backoffLimit: 2 })
  })

  test("is found by the label selector of the cache", () =>
    expect(metadata.labels).toEqual({
      app: "shop",
      "app.kubernetes.io/managed-by": "webapp-controller",
      "apps.kubedojo.io/job": "migrate"
    }))

  test("has pods that neither the Service nor the Deployment selects", () => {
    expect(spec?.template.metadata).toEqual({
      annotations: { "example.test/note": "a" },
      labels: {
        team: "a",
        tier: "web",
        "app.kubernetes.io/managed-by": "webapp-controller",
        "apps.kubedojo.io/job": "migrate",
        "apps.kubedojo.io/webapp": "shop"
      }
    })
    const existing: Deployment = {
      metadata: app.metadata,
      spec: {
        selector: { matchLabels: { tier: "web" }, matchExpressions: [{ key: "team", operator: "Exists" }] },
        template: {}
      }
    }
    const labels = jobOf(migrate, existing).spec?.template.metadata?.labels
    expect([labels?.tier, labels?.team, labels?.app]).toEqual([undefined, undefined, undefined])
  })
})
