/** Applies the policies of `deploy/components/lockdown` to a real API server, and sends requests that they reject. */
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Names from "@homeostat/backup/kinds/Names"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { program } from "../../../controllers/main.ts"
import * as Managed from "../Managed.ts"

const folder = join(import.meta.dir, "../../../deploy/components/lockdown")

/** The user of the ServiceAccount of a manager in this namespace. */
export const manager = (cluster: ControlPlane, namespace: string) =>
  cluster.addUser({ name: `system:serviceaccount:${namespace}:${program.name}` })

/** A request. */
export interface Asked {
  readonly method: "POST" | "PUT" | "DELETE"
  readonly path: string
  readonly body?: object | undefined
}

/** Creates an object of a resource: `batch/v1/jobs`, or `v1/services` of the core group. */
export const create = (resource: string, namespace: string | undefined, body: object): Asked => ({
  method: "POST",
  path: pathOf(resource, namespace),
  body
})

/** The path of a resource in a namespace, or of a cluster-scoped one. */
export const pathOf = (resource: string, namespace: string | undefined): string => {
  const parts = resource.split("/")
  const version = parts.slice(0, -1).join("/")
  return `/${parts.length === 2 ? "api" : "apis"}/${version}/${namespace === undefined ? "" : `namespaces/${namespace}/`}${parts.at(-1)}`
}

/** Sends a dry run, which passes admission and stores nothing. Returns the status and the message of the response. */
export const ask = (cluster: ControlPlane, as: User, { body, method, path }: Asked) =>
  Effect.map(cluster.request(method, `${path}?dryRun=All`, { as, body }), (answer) => ({
    status: answer.status,
    message: String(JSON.parse(answer.body).message ?? "")
  }))

/** The message of a policy's rejection. */
export const denial = (policy: string, text: string): string => {
  const name = `${program.name}-${policy}`
  return `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`
}

/**
 * Applies the policies until the end of the Scope, and waits until each of them is in force.
 *
 * @param strong a manager's user that RBAC allows everything
 */
export const lock = (cluster: ControlPlane, strong: User, namespace: string) =>
  Effect.gen(function* () {
    const file = join(folder, "policies.yaml")
    const applied = yield* Effect.acquireRelease(cluster.kubectl(["apply", "--validate=strict", "-f", file]), () =>
      Effect.ignore(cluster.kubectl(["delete", "-f", file]))
    )
    if (applied.exitCode !== 0 || applied.stderr !== "") return yield* Effect.die(new Error(applied.stderr))
    const unowned = { metadata: { ownerReferences: [] } }
    const refused: { readonly [policy: string]: Asked } = {
      writes: create("v1/configmaps", namespace, { metadata: { name: "probe" } }),
      jobs: create("batch/v1/jobs", namespace, job({ metadata: { ownerReferences: [] } })),
      movers: create("batch/v1/jobs", namespace, job({ template: { hostNetwork: true } })),
      deployments: create("apps/v1/deployments", namespace, deployment({ metadata: { ownerReferences: [] } })),
      webappjobs: create("batch/v1/jobs", namespace, webappJob({ hostNetwork: true })),
      services: create("v1/services", namespace, service({ metadata: { ownerReferences: [] } })),
      autoscalers: create("autoscaling/v2/horizontalpodautoscalers", namespace, autoscaler(unowned)),
      budgets: create("policy/v1/poddisruptionbudgets", namespace, budget(unowned)),
      access: create("networking.k8s.io/v1/networkpolicies", namespace, networkPolicy(unowned)),
      revisions: create("apps/v1/controllerrevisions", namespace, revision({ ownerReferences: [] })),
      routes: create("networking.k8s.io/v1/ingresses", namespace, ingress({ metadata: { ownerReferences: [] } })),
      claims: create("v1/persistentvolumeclaims", namespace, claim({ volumeName: "probe" })),
      crds: create("apiextensions.k8s.io/v1/customresourcedefinitions", undefined, crd("example.org"))
    }
    for (const [policy, asked] of Object.entries(refused)) {
      yield* Managed.eventually(`policy ${policy} is in force`, ask(cluster, strong, asked), ({ message }) =>
        message.includes(`'${program.name}-${policy}'`)
      )
    }
    const app = { apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp", metadata: { name: "probe" } }
    const path = pathOf("apps.kubedojo.io/v1beta1/webapps", namespace)
    const { body } = yield* cluster.request("POST", path, { body: { ...app, spec: { image: "registry.test/web:1" } } })
    const changed = { ...JSON.parse(body), spec: { image: "registry.test/web:2" } }
    yield* Managed.eventually(
      "policy kinds is in force",
      ask(cluster, strong, { method: "PUT", path: `${path}/probe`, body: changed }),
      ({ message }) => message.includes(`'${program.name}-kinds'`)
    )
    yield* cluster.request("DELETE", `${path}/probe`)
  })

const uid = "9c1b0a3e-6a43-4d3f-9d5c-0f5d5b3c7a11"

/** The reference to a controller. */
export const reference = (apiVersion: string, kind: string, name: string) => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true
})

export const ofBackup = reference(`${Backup.group}/v1`, "Backup", "shop")
export const ofWebApp = reference(`${WebApp.group}/v1beta1`, "WebApp", "shop")

export const labels: { readonly [label: string]: string } = {
  ...Names.moverLabels,
  [Names.ownerLabel]: uid,
  [Names.repositoryLabel]: "0123456789abcdef",
  [Names.triggerLabel]: "manual",
  [Names.useLabel]: "backup"
}

/** The container of a mover. */
export const mover = {
  name: "mover",
  image: "homeostat-mover:0.2.0-dev",
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], add: ["DAC_OVERRIDE"] }
  }
}

/** The Job of a mover that the policies accept, with changes of its metadata, its pod's metadata and its pod. */
export const job = ({
  metadata = {},
  podLabels = labels,
  template = {}
}: {
  readonly metadata?: object
  readonly podLabels?: object
  readonly template?: object
} = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "shop-1", labels, ownerReferences: [ofBackup], ...metadata },
  spec: {
    template: {
      metadata: { labels: podLabels },
      spec: {
        restartPolicy: "Never",
        automountServiceAccountToken: false,
        serviceAccountName: "cloud",
        containers: [mover],
        volumes: [
          { name: "data", persistentVolumeClaim: { claimName: "app" } },
          { name: "cache", emptyDir: {} },
          { name: "ca", secret: { secretName: "ca" } }
        ],
        ...template
      }
    }
  }
})

/** The Deployment of WebApp `shop`, with changes of its metadata and its pod. */
export const deployment = ({
  metadata = {},
  template = {}
}: {
  readonly metadata?: object
  readonly template?: object
} = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "shop", ownerReferences: [ofWebApp], ...metadata },
  spec: {
    selector: { matchLabels: { app: "shop" } },
    template: {
      metadata: { labels: { app: "shop" } },
      spec: { containers: [{ name: "app", image: "registry.test/web:1" }], ...template }
    }
  }
})

/** A Job of WebApp `shop`, with changes of its pod. */
export const webappJob = (template: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "shop-migrate-1a2b3c4d5e", ownerReferences: [ofWebApp] },
  spec: {
    template: {
      spec: { restartPolicy: "Never", containers: [{ name: "app", image: "registry.test/web:1" }], ...template }
    }
  }
})

/** The Service of WebApp `shop`, with changes of its metadata and its spec. */
export const service = ({ metadata = {}, spec = {} }: { readonly metadata?: object; readonly spec?: object } = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "shop", ownerReferences: [ofWebApp], ...metadata },
  spec: { type: "ClusterIP", selector: { app: "shop" }, ports: [{ port: 80 }], ...spec }
})

/** A child of WebApp `shop` that the manager also deletes, with changes of its metadata and its spec. */
const companion =
  (apiVersion: string, kind: string, common: object) =>
  ({ metadata = {}, spec = {} }: { readonly metadata?: object; readonly spec?: object } = {}) => ({
    apiVersion,
    kind,
    metadata: { name: "shop", ownerReferences: [ofWebApp], ...metadata },
    spec: { ...common, ...spec }
  })

const selector = { matchLabels: { app: "shop" } }

export const autoscaler = companion("autoscaling/v2", "HorizontalPodAutoscaler", {
  scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" },
  maxReplicas: 3
})

export const budget = companion("policy/v1", "PodDisruptionBudget", { maxUnavailable: 1, selector })

export const networkPolicy = companion("networking.k8s.io/v1", "NetworkPolicy", {
  podSelector: selector,
  policyTypes: ["Ingress"]
})

/** A ControllerRevision of WebApp `shop`, with changes of its metadata. */
export const revision = (metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  metadata: { name: "shop-0123456789abcdef", ownerReferences: [ofWebApp], ...metadata },
  revision: 1,
  data: {}
})

/** The Ingress of a WebApp, with changes of its metadata and its spec. */
export const ingress = ({ metadata = {}, spec = {} }: { readonly metadata?: object; readonly spec?: object } = {}) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "shop", ownerReferences: [ofWebApp], ...metadata },
  spec: { rules: [ruleFor("shop")], ...spec }
})

/** A rule of an Ingress that leads to a Service. */
export const ruleFor = (service: string, host?: string | undefined) => ({
  host: host ?? "shop.example.com",
  http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: service, port: { number: 80 } } } }] }
})

/** The HTTPRoute of a WebApp, with changes of its backend and its spec. */
export const httpRoute = ({ backend = {}, spec = {} }: { readonly backend?: object; readonly spec?: object } = {}) => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "HTTPRoute",
  metadata: { name: "shop", ownerReferences: [ofWebApp] },
  spec: {
    parentRefs: [{ name: "public", namespace: "infra" }],
    hostnames: ["shop.example.com"],
    rules: [{ backendRefs: [{ group: "", kind: "Service", name: "shop", port: 80, ...backend }] }],
    ...spec
  }
})

/** The claim of a Restore, with changes of its spec and its metadata. */
export const claim = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "fresh", ...metadata },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec }
})

/** A CRD of a group. */
export const crd = (group: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
  }
})
