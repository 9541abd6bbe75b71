import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import {
  containerOf,
  desiredDeployment,
  desiredService,
  exclusiveInDeployment,
  exclusiveInService,
  labelsOf,
  managers
} from "./children.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}

const app: WebApp = { metadata, spec: { image: "nginx:1.27", replicas: 2, port: 8080 } }

const deployment = (matchLabels: { readonly [label: string]: string }): Deployment => ({
  metadata,
  spec: { selector: { matchLabels }, template: {} }
})

describe("the Service selects", () => {
  const ours = { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" }
  for (const [pods, matchLabels, selector] of [
    ["the pods of the Deployment that the WebApp creates, by all their labels", undefined, ours],
    ["the pods of a Deployment with other labels", { app: "legacy", tier: "web" }, { app: "legacy", tier: "web" }],
    ["the pods of a Deployment with one label", { tier: "web" }, { tier: "web" }],
    ["the pods of a Deployment that selects by expressions", {}, ours]
  ] as const) {
    test(pods, () => {
      const existing = matchLabels && deployment(matchLabels)
      expect(desiredService(app, existing).spec?.selector).toEqual(selector)
      const labels = desiredDeployment(app, { existing }).spec?.template?.metadata?.labels
      expect(labels).toMatchObject(selector)
    })
  }
})

describe("the Deployment", () => {
  const labels = { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" }
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } }
  const container = {
    name: "app",
    image: "nginx:1.27",
    ports: [{ containerPort: 8080, protocol: "TCP" }],
    readinessProbe: {
      tcpSocket: { port: 8080 },
      periodSeconds: 2,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3
    },
    securityContext: { allowPrivilegeEscalation: false },
    terminationMessagePolicy: "FallbackToLogsOnError",
    lifecycle: { preStop: { sleep: { seconds: 5 } } }
  }
  const pod = {
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    terminationGracePeriodSeconds: 30,
    containers: [container]
  }
  const podOf = (spec: Partial<WebApp["spec"]>) =>
    desiredDeployment({ ...app, spec: { ...app.spec, ...spec } }).spec?.template?.spec
  const containerIn = (spec: Partial<WebApp["spec"]>) => podOf(spec)?.containers[0]

  test("has a TCP readiness probe, time to drain and no privileges by default", () =>
    expect(desiredDeployment(app)).toEqual({
      metadata: { name: "shop", labels, annotations: {} },
      spec: { replicas: 2, strategy, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } }
    }))
  test("leaves the replicas to an autoscaler, stores those of the spec, and keeps its selector", () => {
    const existing = deployment({ tier: "web" })
    expect(desiredDeployment(app, { existing, scaling: { by: "Others", replicas: 2 } })).toEqual({
      metadata: { name: "shop", labels, annotations: { "apps.kubedojo.io/replicas": "2" } },
      spec: {
        strategy,
        selector: { matchLabels: { tier: "web" } },
        template: { metadata: { labels: { ...labels, tier: "web" } }, spec: pod }
      }
    })
  })
  test("leaves the replicas to its own autoscaler, and keeps no annotation", () => {
    const { metadata, spec } = desiredDeployment(app, { scaling: { by: "Autoscaler", replicas: 3 } })
    expect([metadata.annotations, spec?.replicas]).toEqual([{}, undefined])
  })
  test("starts with the replicas that the autoscaler allows", () =>
    expect(desiredDeployment(app, { scaling: { by: "Spec", replicas: 3 } }).spec?.replicas).toBe(3))
  test("spreads over nodes and zones if the spec requests it, instead of the podTemplate", () => {
    const podTemplate = { spec: { topologySpreadConstraints: [{ topologyKey: "rack" }] } }
    const keysOf = (spec: Partial<WebApp["spec"]>) =>
      podOf(spec)?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)
    expect(keysOf({})).toBeUndefined()
    expect(keysOf({ podTemplate })).toEqual(["rack"])
    expect(keysOf({ spread: "Nodes", podTemplate })).toEqual(["kubernetes.io/hostname"])
    expect(keysOf({ spread: "Zones" })).toEqual(["topology.kubernetes.io/zone", "kubernetes.io/hostname"])
    const existing = deployment({ tier: "web" })
    const spec = { ...app.spec, spread: "Nodes" as const }
    expect(desiredDeployment({ ...app, spec }, { existing }).spec?.template?.spec?.topologySpreadConstraints).toEqual([
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: { tier: "web" } },
        matchLabelKeys: ["pod-template-hash"]
      }
    ])
  })
  test("has the program, the environment and the resources of the spec", () => {
    const spec = {
      command: ["/bin/shop"],
      args: ["-v"],
      env: [{ name: "A", value: "1" }],
      resources: { limits: { cpu: "1" } }
    }
    expect(containerIn(spec)).toEqual({ ...container, ...spec })
  })
  test("has the probes of the spec, with the port of the WebApp", () => {
    const times = { periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 }
    const { readinessProbe, livenessProbe, startupProbe } =
      containerIn({
        probes: {
          readiness: { http: { path: "/ready" }, successThreshold: 2 },
          liveness: { command: ["true"], initialDelaySeconds: 7 },
          startup: { tcp: { port: 9 }, failureThreshold: 30 }
        }
      }) ?? {}
    expect(readinessProbe).toEqual({
      httpGet: { path: "/ready", port: 8080, scheme: "HTTP" },
      ...times,
      successThreshold: 2
    })
    expect(livenessProbe).toEqual({ exec: { command: ["true"] }, initialDelaySeconds: 7, ...times })
    expect(startupProbe).toEqual({ tcpSocket: { port: 9 }, ...times, failureThreshold: 30 })
    expect(containerIn({ probes: { readiness: { none: {} } } })?.readinessProbe).toBeUndefined()
    expect(containerIn({ probes: { liveness: { tcp: {} } } })?.readinessProbe).toEqual(container.readinessProbe)
  })
  test("drains for the time in the spec", () => {
    expect(podOf({ termination: { drainSeconds: 20, gracePeriodSeconds: 60 } })).toMatchObject({
      terminationGracePeriodSeconds: 60,
      containers: [{ lifecycle: { preStop: { sleep: { seconds: 20 } } } }]
    })
    expect(containerIn({ termination: { drainSeconds: 0 } })?.lifecycle).toBeUndefined()
  })
  test("is replaced at once with the strategy Recreate", () => {
    const { spec } = desiredDeployment({ ...app, spec: { ...app.spec, strategy: "Recreate" } })
    expect(spec?.strategy).toEqual({ type: "Recreate" })
  })
  test("meets the Pod Security Standard Restricted", () =>
    expect(podOf({ security: "Restricted" })).toMatchObject({
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [{ securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } }]
    }))
  test("mounts the volumes of the spec", () =>
    expect(
      podOf({
        serviceAccountName: "shop",
        imagePullSecrets: [{ name: "registry" }],
        volumes: [
          { name: "data", claim: "shop", mountPath: "/data", readOnly: true, subPath: "a" },
          { name: "tmp", emptyDir: { sizeLimit: "1Gi" }, mountPath: "/tmp" }
        ]
      })
    ).toEqual({
      ...pod,
      serviceAccountName: "shop",
      serviceAccount: "shop",
      imagePullSecrets: [{ name: "registry" }],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: "shop" } },
        { name: "tmp", emptyDir: { sizeLimit: "1Gi" } }
      ],
      containers: [
        {
          ...container,
          volumeMounts: [
            { name: "data", mountPath: "/data", subPath: "a", readOnly: true },
            { name: "tmp", mountPath: "/tmp" }
          ]
        }
      ]
    }))

  test("omits values that the API server drops", () => {
    const { livenessProbe, volumeMounts } =
      containerIn({
        probes: { liveness: { tcp: {}, initialDelaySeconds: 0 } },
        volumes: [{ name: "tmp", emptyDir: {}, mountPath: "/tmp", readOnly: false }]
      }) ?? {}
    expect(livenessProbe).not.toHaveProperty("initialDelaySeconds")
    expect(volumeMounts).toEqual([{ name: "tmp", mountPath: "/tmp" }])
  })

  describe("with a pod template in the spec", () => {
    const template = (spec: object, metadata: object = {}) => podOf({ podTemplate: { spec, metadata } })

    test("has its fields, and the WebApp's where both set one", () => {
      const { spec } = desiredDeployment({
        ...app,
        spec: {
          ...app.spec,
          podTemplate: {
            metadata: { labels: { team: "a", app: "other" }, annotations: { note: "b" } },
            spec: { nodeSelector: { disk: "ssd" }, containers: [{ name: "app", image: "other", tty: true }] }
          }
        }
      })
      expect(spec?.template?.metadata).toEqual({ labels: { ...labels, team: "a" }, annotations: { note: "b" } })
      expect(spec?.template?.spec).toEqual({
        ...pod,
        nodeSelector: { disk: "ssd" },
        containers: [{ ...container, tty: true }]
      })
    })
    test("adds containers, volumes, mounts and variables to those of the WebApp", () => {
      const added = podOf({
        env: [{ name: "A", value: "1" }],
        volumes: [{ name: "tmp", emptyDir: {}, mountPath: "/tmp" }],
        podTemplate: {
          spec: {
            volumes: [
              { name: "cache", emptyDir: {} },
              { name: "tmp", hostPath: { path: "/" } }
            ],
            containers: [
              { name: "proxy", image: "proxy:1" },
              {
                name: "app",
                env: [
                  { name: "A", valueFrom: {} },
                  { name: "B", value: "2" }
                ],
                volumeMounts: [{ name: "cache", mountPath: "/cache" }]
              }
            ]
          }
        }
      })
      expect(added?.volumes).toEqual([
        { name: "tmp", emptyDir: {} },
        { name: "cache", emptyDir: {} }
      ])
      expect(added?.containers.map(({ name }) => name)).toEqual(["app", "proxy"])
      expect(added?.containers[0]?.env).toEqual([
        { name: "A", value: "1" },
        { name: "B", value: "2" }
      ])
      expect(added?.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(["/tmp", "/cache"])
    })
    test("replaces a default, and a probe or a hook as a whole", () => {
      const times = { periodSeconds: 3, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 }
      const readinessProbe = { exec: { command: ["ready"] }, periodSeconds: 3 }
      const preStop = { exec: { command: ["stop"] } }
      const found = template({
        enableServiceLinks: true,
        securityContext: { fsGroup: 7 },
        containers: [{ name: "app", readinessProbe, lifecycle: { preStop } }]
      })
      expect(found).toMatchObject({
        enableServiceLinks: true,
        securityContext: { fsGroup: 7, seccompProfile: { type: "RuntimeDefault" } }
      })
      expect(found?.containers[0]).toEqual({
        ...container,
        readinessProbe: { ...readinessProbe, ...times },
        lifecycle: { preStop }
      })
    })
  })
})

test("the Service has the name and the port of the WebApp", () =>
  expect(desiredService(app)).toEqual({
    metadata: { name: "shop", labels: labelsOf(app) },
    spec: {
      type: "ClusterIP",
      selector: labelsOf(app),
      ports: [{ port: 8080, targetPort: 8080, protocol: "TCP" }]
    }
  }))

test("the controller owns ports, variables, handlers and strategy alone", () => {
  const within = ["spec", "template", "spec", "containers", { name: "web" }] as const
  const always = [
    ["spec", "strategy"],
    [...within, "ports"],
    [...within, "env"],
    [...within, "lifecycle", "preStop"]
  ]
  expect(exclusiveInDeployment(app, "web")).toEqual([...always, [...within, "readinessProbe"]])
  const probes = { readiness: { none: {} }, liveness: { tcp: {} }, startup: { tcp: {} } }
  expect(exclusiveInDeployment({ ...app, spec: { ...app.spec, probes } }, "web")).toEqual([
    ...always,
    [...within, "livenessProbe"],
    [...within, "startupProbe"]
  ])
  expect(exclusiveInService).toEqual([
    ["spec", "ports"],
    ["spec", "selector"]
  ])
  expect(managers).toEqual(["webapp-controller", "webapp-operator"])
})

describe("the container with the image", () => {
  const ownerReferences = [{ apiVersion: "a/v1", kind: "WebApp", name: "shop", uid: "u", controller: true }]
  const having = (names: ReadonlyArray<string>, over: object = {}): Deployment => ({
    metadata: { ...metadata, ...over },
    spec: { selector: {}, template: { spec: { containers: names.map((name) => ({ name })) } } }
  })
  for (const [title, existing, name] of [
    ["is called app", undefined, "app"],
    ["is called app beside others", having(["proxy", "app"]), "app"],
    ["is the only one of a Deployment to adopt", having(["web"]), "web"],
    ["is unknown if a Deployment to adopt has several", having(["web", "proxy"]), undefined],
    [
      "keeps its name after the adoption",
      having(["web", "proxy"], { ownerReferences, annotations: { "apps.kubedojo.io/container": "web" } }),
      "web"
    ],
    ["is called app if another client renamed it", having(["web"], { ownerReferences }), "app"]
  ] as const) {
    test(title, () => expect(containerOf(existing)).toBe(name))
  }
  test("has its name in an annotation of an adopted Deployment", () => {
    const { metadata, spec } = desiredDeployment(app, { container: "web" })
    expect(metadata.annotations).toEqual({ "apps.kubedojo.io/container": "web" })
    expect(spec?.template?.spec?.containers.map(({ name }) => name)).toEqual(["web"])
  })
})
