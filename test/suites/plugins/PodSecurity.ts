/** Pods and pod templates in a namespace with the labels of Pod Security, as dialogues. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Json from "@homeostat/apiserver/model/Json"
import { merge, post } from "../admission/Objects.ts"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"

const prefix = "pod-security.kubernetes.io/"
const space = "/api/v1/namespaces/NAMESPACE"
const pods = `${space}/pods`

/** Changes the labels of the namespace, and waits until a kube-apiserver uses them. */
const labelled = (labels: { readonly [mode: string]: string | null }): Step => ({
  method: "PATCH",
  path: space,
  ...merge({
    metadata: { labels: Object.fromEntries(Object.entries(labels).map(([mode, value]) => [prefix + mode, value])) }
  }),
  pauseMillis: 500
})

const container = (more: JsonObject = {}, name = "c"): JsonObject => ({ name, image: "i", ...more })

const pod = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", ...metadata },
  spec: { containers: [container()], ...spec }
})

/** A pod that meets the restricted standard. */
const safe = (spec: JsonObject = {}, securityContext: JsonObject = {}): JsonObject =>
  pod({
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      container({
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, ...securityContext }
      })
    ],
    ...spec
  })

const create = (body: JsonObject): Step => post(`${pods}?dryRun=All`, body)

const within = (securityContext: JsonObject): JsonObject => pod({ containers: [container({ securityContext })] })

const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `PodSecurity: ${about}`,
  headers: ["warning"],
  // The managers and the age of the namespace depend on the test.
  compared: (_, body) => {
    const { creationTimestamp: __, managedFields: ___, ...metadata } = Json.object(Json.at(body, "metadata"))
    return Json.at(body, "kind") === "Namespace" ? { ...Json.object(body), metadata } : body
  },
  steps
})

/** Specs that violate at least one level. */
const specs: { readonly [about: string]: JsonObject } = {
  plain: pod(),
  safe: safe(),
  "host namespaces": pod({ hostNetwork: true, hostPID: true, hostIPC: true }),
  "one host namespace": pod({ hostPID: true }),
  "a host path": pod({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
  "volumes of several types": pod({
    volumes: [
      { name: "v", hostPath: { path: "/" } },
      { name: "w", nfs: { server: "s", path: "/" } },
      { name: "e", emptyDir: {} }
    ]
  }),
  "host ports": pod({
    containers: [
      container({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
      container({ ports: [{ containerPort: 81, hostPort: 443 }] }, "d")
    ]
  }),
  "hosts of probes": pod({
    containers: [
      container({
        livenessProbe: { httpGet: { port: 80, host: "a.example" } },
        lifecycle: { preStop: { tcpSocket: { port: 80, host: "b.example" } } }
      })
    ]
  }),
  privileged: within({ privileged: true }),
  "a privileged init container": pod({
    initContainers: [container({ securityContext: { privileged: true } }, "first")]
  }),
  "capabilities of the baseline": within({ capabilities: { add: ["CHOWN", "NET_BIND_SERVICE"] } }),
  "other capabilities": within({ capabilities: { add: ["SYS_ADMIN", "NET_RAW"] } }),
  "dropped capabilities": within({ capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }),
  "procMount without a user namespace": pod({
    hostUsers: false,
    containers: [container({ securityContext: { procMount: "Unmasked" } })]
  }),
  SELinux: pod({
    securityContext: { seLinuxOptions: { type: "spc_t", user: "u" } },
    containers: [container({ securityContext: { seLinuxOptions: { role: "r", type: "other_t" } } })]
  }),
  "SELinux of container engines": within({ seLinuxOptions: { type: "container_engine_t" } }),
  seccomp: within({ seccompProfile: { type: "Unconfined" } }),
  "seccomp of the pod": pod({ securityContext: { seccompProfile: { type: "Unconfined" } } }),
  AppArmor: pod({
    securityContext: { appArmorProfile: { type: "Unconfined" } },
    containers: [container({ securityContext: { appArmorProfile: { type: "Unconfined" } } })]
  }),
  sysctls: pod({
    securityContext: {
      sysctls: [
        { name: "kernel.shm_rmid_forced", value: "1" },
        { name: "kernel.msgmax", value: "1" },
        { name: "net.ipv4.tcp_rmem", value: "1 2 3" }
      ]
    }
  }),
  "the user root": safe({}, { runAsUser: 0 }),
  "not as non-root": safe({}, { runAsNonRoot: false }),
  "a pod as root": pod({ securityContext: { runAsNonRoot: false, runAsUser: 0 } }),
  "a pod in a user namespace": pod({ hostUsers: false }),
  Windows: pod({
    os: { name: "windows" },
    securityContext: { windowsOptions: { hostProcess: true }, runAsNonRoot: true },
    hostNetwork: true
  })
}

const deployment = (spec: JsonObject): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [container()], ...spec } }
  }
})

const cronJob: JsonObject = {
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "nightly" },
  spec: {
    schedule: "0 0 * * *",
    jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [container()] } } } }
  }
}

/** All dialogues of this module. */
export const podSecurity: ReadonlyArray<Dialogue> = [
  ...["baseline", "restricted"].flatMap((level) => [
    dialogue(`pods at the level ${level}`, labelled({ enforce: level }), ...Object.values(specs).map(create)),
    dialogue(
      `pods at the level ${level} of older versions`,
      ...["v1.0", "v1.20", "v1.24", "v1.28", "v1.34", "v1.99"].flatMap((version) => [
        labelled({ enforce: level, "enforce-version": version }),
        ...[
          "plain",
          "sysctls",
          "seccomp",
          "hosts of probes",
          "SELinux of container engines",
          "a pod in a user namespace"
        ].map((about) => create(specs[about] ?? {}))
      ])
    )
  ]),
  dialogue(
    "old annotations",
    labelled({ enforce: "baseline", "enforce-version": "v1.18" }),
    create(pod({}, { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "unconfined" } })),
    create(pod({}, { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } }))
  ),
  dialogue(
    "warnings",
    labelled({ warn: "restricted" }),
    create(pod()),
    post("/apis/apps/v1/namespaces/NAMESPACE/deployments?dryRun=All", deployment({})),
    post("/apis/batch/v1/namespaces/NAMESPACE/cronjobs?dryRun=All", cronJob),
    labelled({ warn: "baseline", "warn-version": "v1.20" }),
    post("/apis/apps/v1/namespaces/NAMESPACE/deployments?dryRun=All", deployment({ hostNetwork: true })),
    labelled({ warn: "privileged", enforce: "restricted" }),
    post("/apis/apps/v1/namespaces/NAMESPACE/deployments?dryRun=All", deployment({ hostNetwork: true })),
    create(safe())
  ),
  dialogue(
    "wrong labels",
    labelled({ enforce: "strict" }),
    labelled({ "enforce-version": "1.30" }),
    labelled({ warn: "none", "warn-version": "v2.1", audit: "x" }),
    post("/api/v1/namespaces?dryRun=All", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "NAMESPACE-other", labels: { [`${prefix}enforce`]: "strict" } }
    })
  ),
  dialogue(
    "pods that exist when the level changes",
    post(pods, pod({}, { name: "b" })),
    post(pods, pod({}, { name: "a" })),
    post(pods, { ...safe(), metadata: { name: "safe" } }),
    post(pods, pod({ hostNetwork: true }, { name: "host" })),
    labelled({ enforce: "restricted" }),
    labelled({ enforce: "baseline" }),
    labelled({ enforce: "baseline", "enforce-version": "v1.30" }),
    { method: "PATCH", path: `${pods}/host`, ...merge({ metadata: { labels: { a: "b" } } }) },
    { method: "PATCH", path: `${pods}/host`, ...merge({ spec: { containers: [container({ image: "j" })] } }) }
  )
]
