/**
 * The policies reject every write that the manager does not need, even if RBAC allows it. The message names the value.
 */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Names from "@homeostat/backup/kinds/Names"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as GatewayApi from "../webapp/GatewayApi.ts"
import * as Locked from "./Locked.ts"

const webapps = "apps.kubedojo.io/v1beta1/webapps"
const backups = "backup.example.com/v1/backups"
const restores = "backup.example.com/v1/restores"
const jobs = "batch/v1/jobs"
const deployments = "apps/v1/deployments"
const services = "v1/services"
const claims = "v1/persistentvolumeclaims"
const crds = "apiextensions.k8s.io/v1/customresourcedefinitions"
const bindings = "rbac.authorization.k8s.io/v1/clusterrolebindings"
const secret = "homeostat-webhook-certificate"

/** The tenants' namespace, the manager's own namespace, and users of managers with the role cluster-admin. */
interface Scene {
  readonly cluster: ControlPlane
  readonly shop: string
  readonly home: string
  readonly strong: User
  /** Creates an object as an administrator, and returns it. */
  readonly make: (resource: string, object: object) => Effect.Effect<Made, unknown>
  /** Expects that a policy rejects the request with this text. */
  readonly denies: (policy: string, asked: Locked.Asked, text: string) => Effect.Effect<void, unknown>
  /** Expects that the API server accepts the request. */
  readonly accepts: (asked: Locked.Asked, as?: User) => Effect.Effect<void, unknown>
}

/** An object and its path. */
interface Made {
  readonly path: string
  readonly object: Stored
}
interface Stored {
  readonly metadata: { readonly name: string; readonly labels?: object; readonly annotations?: object }
  readonly spec: object
}

const admin = (cluster: ControlPlane, name: string, user: User) =>
  cluster.request("POST", Locked.pathOf(bindings, undefined), {
    body: {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user.user }]
    }
  })

const locked = (name: string, body: (scene: Scene) => Effect.Effect<void, unknown>): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(WebApp), Crd.of(Backup), Crd.of(Restore))
        const shop = yield* cluster.namespace("shop")
        const home = yield* cluster.namespace("home")
        const strong = yield* Locked.manager(cluster, home)
        yield* admin(cluster, home, strong)
        yield* Locked.lock(cluster, strong, shop)
        const make: Scene["make"] = (resource, object) =>
          Effect.map(
            cluster.request("POST", Locked.pathOf(resource, shop), { body: object }),
            ({ body, status }): Made => {
              expect([status, status === 201 ? "" : body]).toEqual([201, ""])
              const made = JSON.parse(body)
              return { path: `${Locked.pathOf(resource, shop)}/${made.metadata.name}`, object: made }
            }
          )
        const denies: Scene["denies"] = (policy, asked, text) =>
          Effect.map(Locked.ask(cluster, strong, asked), ({ message, status }) => {
            const [, denied = message] = /(ValidatingAdmissionPolicy .*)/.exec(message) ?? []
            expect([asked.method, asked.path, status, denied]).toEqual([
              asked.method,
              asked.path,
              403,
              Locked.denial(policy, text)
            ])
          })
        const accepts: Scene["accepts"] = (asked, as = strong) =>
          Effect.map(Locked.ask(cluster, as, asked), ({ message, status }) =>
            expect([asked.path, status < 300 ? "" : message]).toEqual([asked.path, ""])
          )
        return yield* body({ cluster, shop, home, strong, make, denies, accepts })
      }),
    { audit: true, timeoutMillis: 120_000 }
  )

const put = ({ object, path }: Made, change: (object: Stored) => object, subresource = ""): Locked.Asked => ({
  method: "PUT",
  path: `${path}${subresource}`,
  body: change(object)
})

const lease = { metadata: { name: "homeostat" }, spec: { holderIdentity: "a" } }
const event = (namespace: string) => ({
  metadata: { name: "shop.1" },
  eventTime: "2026-11-26T00:00:00.000000Z",
  reportingController: "homeostat",
  reportingInstance: "a",
  action: "Reconcile",
  reason: "Test",
  type: "Normal",
  regarding: { kind: "WebApp", namespace, name: "shop" }
})

describe("The policies of the manager", () => {
  locked("reject every write in namespaces kube-*", ({ denies, strong, cluster, accepts }) =>
    Effect.gen(function* () {
      const text = (namespace: string) => `namespace forbidden: ${namespace} (must not begin with kube-)`
      const objects: ReadonlyArray<readonly [string, object]> = [
        [jobs, Locked.job()],
        [deployments, Locked.deployment()],
        [services, Locked.service()],
        [claims, Locked.claim()],
        ["coordination.k8s.io/v1/leases", lease],
        ["events.k8s.io/v1/events", event("kube-system")],
        ["v1/configmaps", { metadata: { name: "a" } }]
      ]
      for (const [resource, object] of objects) {
        yield* denies("writes", Locked.create(resource, "kube-system", object), text("kube-system"))
      }
      yield* denies("writes", Locked.create(jobs, "kube-public", Locked.job()), text("kube-public"))
      // An administrator and a ServiceAccount with another name may do all that RBAC allows.
      yield* accepts(Locked.create(jobs, "kube-system", Locked.job()), cluster.admin)
      const other = yield* cluster.addUser({ name: `${strong.user}-metrics-reader` })
      yield* admin(cluster, `${strong.user.split(":")[2]}-other`, other)
      yield* accepts(Locked.create(jobs, "kube-system", Locked.job()), other)
    })
  )

  locked(
    "accept only Leases, Events and the certificate in the manager's namespace, and limit a manager of any namespace",
    ({ accepts, cluster, denies, home, shop }) =>
      Effect.gen(function* () {
        const objects: ReadonlyArray<readonly [string, string, object]> = [
          ["jobs.batch", jobs, Locked.job()],
          ["deployments.apps", deployments, Locked.deployment()],
          ["services", services, Locked.service()],
          ["persistentvolumeclaims", claims, Locked.claim()],
          ["secrets", "v1/secrets", { metadata: { name: "other" } }]
        ]
        for (const [name, resource, object] of objects) {
          yield* denies(
            "writes",
            Locked.create(resource, home, object),
            `write in the namespace of the manager forbidden: create ${name} (must be of a Lease, an Event or Secret ${secret})`
          )
        }
        const certificate = {
          metadata: { name: secret },
          type: "kubernetes.io/tls",
          data: { "tls.crt": "", "tls.key": "" }
        }
        yield* accepts(Locked.create("coordination.k8s.io/v1/leases", home, lease))
        yield* accepts(Locked.create("events.k8s.io/v1/events", home, event(home)))
        yield* accepts(Locked.create("v1/secrets", home, certificate))
        const account = { "kubernetes.io/service-account.name": "default" }
        for (const token of [
          { type: "kubernetes.io/service-account-token", metadata: { ...certificate.metadata, annotations: account } },
          { type: "Opaque" },
          { metadata: { ...certificate.metadata, annotations: account } }
        ]) {
          yield* denies(
            "writes",
            Locked.create("v1/secrets", home, { ...certificate, ...token }),
            `type or annotation of the Secret forbidden: ${home}/${secret} (must be of type kubernetes.io/tls, without annotations kubernetes.io/service-account.*)`
          )
        }
        yield* denies(
          "writes",
          Locked.create("v1/secrets", shop, certificate),
          `Secret forbidden: ${shop}/${secret} (must be ${secret} in the namespace of the manager)`
        )
        const elsewhere = yield* Locked.manager(cluster, shop)
        yield* admin(cluster, shop, elsewhere)
        const { message } = yield* Locked.ask(cluster, elsewhere, Locked.create(jobs, shop, Locked.job()))
        expect(message).toContain("write in the namespace of the manager forbidden: create jobs.batch")
        yield* accepts(Locked.create(jobs, home, Locked.job()), elsewhere)
      })
  )

  locked("reject every write that no controller of the program sends", ({ accepts, denies, make, shop }) =>
    Effect.gen(function* () {
      const text = (write: string) => `write forbidden: ${write} (must be one that a controller of the program makes)`
      const app = yield* make(webapps, {
        apiVersion: "apps.kubedojo.io/v1beta1",
        kind: "WebApp",
        metadata: { name: "shop" },
        spec: { image: "registry.test/web:1" }
      })
      const deployment = yield* make(deployments, Locked.deployment())
      const service = yield* make(services, Locked.service())
      const claim = yield* make(claims, Locked.claim())
      const remove = ({ path }: Made): Locked.Asked => ({ method: "DELETE", path })
      const requests: ReadonlyArray<readonly [string, Locked.Asked]> = [
        ["delete deployments.apps", remove(deployment)],
        ["delete services", remove(service)],
        ["delete persistentvolumeclaims", remove(claim)],
        ["update persistentvolumeclaims", put(claim, (object) => object)],
        ["delete webapps.apps.kubedojo.io", remove(app)],
        [
          "create webapps.apps.kubedojo.io",
          Locked.create(webapps, shop, {
            apiVersion: "apps.kubedojo.io/v1beta1",
            kind: "WebApp",
            metadata: { name: "other" },
            spec: { image: "registry.test/web:1" }
          })
        ],
        [
          "update deployments.apps/scale",
          {
            method: "PUT",
            path: `${deployment.path}/scale`,
            body: { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "shop" }, spec: { replicas: 3 } }
          }
        ],
        ["create configmaps", Locked.create("v1/configmaps", shop, { metadata: { name: "a" } })],
        [
          "create pods",
          Locked.create("v1/pods", shop, {
            metadata: { name: "a" },
            spec: { containers: [{ name: "a", image: "registry.test/a:1" }] }
          })
        ],
        ["create namespaces", Locked.create("v1/namespaces", undefined, { metadata: { name: "another" } })],
        [
          "create clusterrolebindings.rbac.authorization.k8s.io",
          Locked.create(bindings, undefined, {
            metadata: { name: "all" },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
            subjects: []
          })
        ]
      ]
      for (const [write, asked] of requests) yield* denies("writes", asked, text(write))
      // A review does not change the cluster.
      const review = { spec: { user: "a", resourceAttributes: { verb: "get", resource: "pods" } } }
      yield* accepts(Locked.create("authorization.k8s.io/v1/subjectaccessreviews", undefined, review))
      yield* accepts(Locked.create("authentication.k8s.io/v1/tokenreviews", undefined, { spec: { token: "made-up" } }))
    })
  )

  locked("accept only Jobs of Backups, Restores and WebApps", ({ accepts, denies, make, shop }) =>
    Effect.gen(function* () {
      const text = (owner: string) =>
        `owner of the Job forbidden: ${owner} (must be a Backup or Restore of backup.example.com or a WebApp of apps.kubedojo.io, as controller)`
      const owned = (...ownerReferences: ReadonlyArray<object>) =>
        Locked.create(jobs, shop, Locked.job({ metadata: { ownerReferences } }))
      yield* accepts(owned(Locked.ofBackup))
      yield* accepts(owned({ ...Locked.ofBackup, kind: "Restore" }))
      yield* denies("jobs", owned(), text("none"))
      yield* denies("jobs", owned({ ...Locked.ofBackup, controller: false }), text("none"))
      yield* accepts(Locked.create(jobs, shop, Locked.webappJob()))
      const other = { ...Locked.ofWebApp, apiVersion: "example.org/v1" }
      yield* denies("jobs", owned(other), text("example.org/v1 WebApp shop"))
      const velero = Locked.reference("velero.io/v1", "Backup", "shop")
      yield* denies("jobs", owned(velero), text("velero.io/v1 Backup shop"))

      const foreign = yield* make(jobs, Locked.job({ metadata: { name: "foreign", ownerReferences: [] } }))
      yield* denies("jobs", { method: "DELETE", path: foreign.path }, text("none"))
      const taken = put(foreign, (object) => ({
        ...object,
        metadata: { ...object.metadata, ownerReferences: [Locked.ofBackup] }
      }))
      yield* denies("jobs", taken, text("none"))

      const own = yield* make(jobs, Locked.job({ metadata: { name: "own" }, podLabels: {} }))
      yield* accepts({ method: "DELETE", path: own.path })
      const disowned = yield* make(jobs, Locked.job({ metadata: { name: "disowned" } }))
      yield* denies(
        "jobs",
        put(disowned, (object) => ({ ...object, metadata: { ...object.metadata, ownerReferences: [] } })),
        text("none")
      )
      yield* accepts(put(disowned, (object) => ({ ...object, spec: { ...object.spec, suspend: true } })))
    })
  )

  locked("do not replace the error that a namespace is being deleted, which a clean-up needs", ({ cluster, strong }) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("terminating")
      // No namespace controller runs, so the namespace stays in termination.
      yield* cluster.request("DELETE", `/api/v1/namespaces/${namespace}`)
      const { message } = yield* Locked.ask(
        cluster,
        strong,
        Locked.create(jobs, namespace, Locked.job({ metadata: { ownerReferences: [] } }))
      )
      expect(message).toContain(`because it is being terminated`)
    }).pipe(Effect.scoped)
  )

  locked("accept only pods of Jobs that are movers", ({ accepts, denies, shop }) =>
    Effect.gen(function* () {
      const pod = (template: object) => Locked.create(jobs, shop, Locked.job({ template }))
      const label = (name: string) =>
        `label of a mover missing or invalid: ${name} (required on the Job and its pod template)`
      const { [Names.useLabel]: _use, ...required } = Locked.labels
      // The Jobs of a manager of 0.1.0 lack the label of the use, and a roll-back keeps the policies.
      yield* accepts(Locked.create(jobs, shop, Locked.job({ metadata: { labels: required }, podLabels: required })))
      const maintenance = { ...Locked.labels, [Names.nameLabel]: Names.maintenanceName }
      yield* accepts(Locked.create(jobs, shop, Locked.job({ metadata: { labels: maintenance } })))
      yield* denies(
        "movers",
        Locked.create(jobs, shop, Locked.job({ metadata: { labels: maintenance }, podLabels: maintenance })),
        label(Names.nameLabel)
      )
      for (const name of Object.keys(required)) {
        const { [name]: _, ...rest } = Locked.labels
        yield* denies("movers", Locked.create(jobs, shop, Locked.job({ metadata: { labels: rest } })), label(name))
        yield* denies("movers", Locked.create(jobs, shop, Locked.job({ podLabels: rest })), label(name))
      }
      for (const name of ["app.kubernetes.io/name", "app.kubernetes.io/managed-by", Names.ownerLabel]) {
        const podLabels = { ...Locked.labels, [name]: "other" }
        yield* denies("movers", Locked.create(jobs, shop, Locked.job({ podLabels })), label(name))
      }
      const token = (value: string) => `invalid automountServiceAccountToken: ${value} (must be false)`
      yield* denies("movers", pod({ automountServiceAccountToken: true }), token("true"))
      yield* denies("movers", pod({ automountServiceAccountToken: undefined }), token("not set"))
      for (const field of ["hostNetwork", "hostPID", "hostIPC"]) {
        const text = `field of the pod template forbidden: ${field} (must be false or not set)`
        yield* denies("movers", pod({ [field]: true }), text)
      }
      for (const source of [
        { hostPath: { path: "/" } },
        { configMap: { name: "a" } },
        { projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }
      ]) {
        const text = "volume forbidden: data (must be a persistentVolumeClaim, emptyDir or secret)"
        yield* denies("movers", pod({ volumes: [{ name: "data", ...source }] }), text)
      }
      yield* accepts(pod({ volumes: undefined }))
      yield* denies(
        "movers",
        pod({ initContainers: [{ ...Locked.mover, name: "first" }] }),
        "init container forbidden: first (must have containers only)"
      )
      const container = (securityContext: object) =>
        pod({
          containers: [
            { ...Locked.mover, name: "good" },
            { ...Locked.mover, securityContext: { ...Locked.mover.securityContext, ...securityContext } }
          ]
        })
      const capable =
        "capabilities forbidden: container: mover (must drop ALL and add at most CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETFCAP)"
      yield* denies("movers", container({ capabilities: undefined }), capable)
      yield* denies("movers", container({ capabilities: { drop: ["NET_RAW"] } }), capable)
      yield* denies("movers", container({ capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } }), capable)
      const escalating = "invalid allowPrivilegeEscalation: container: mover (must be false)"
      yield* denies("movers", container({ allowPrivilegeEscalation: true }), escalating)
      yield* denies("movers", container({ allowPrivilegeEscalation: undefined }), escalating)
      const writable = "invalid readOnlyRootFilesystem: container: mover (must be true)"
      yield* denies("movers", container({ readOnlyRootFilesystem: false }), writable)
      yield* denies("movers", container({ readOnlyRootFilesystem: undefined }), writable)
    })
  )

  locked("accept only pods that the baseline of Pod Security isolates from the node", ({ accepts, denies, shop }) =>
    Effect.gen(function* () {
      const plain = { name: "app", image: "registry.test/web:1" }
      const kinds = [
        ["movers", Locked.mover, (template: object) => Locked.create(jobs, shop, Locked.job({ template }))],
        ["deployments", plain, (template: object) => Locked.create(deployments, shop, Locked.deployment({ template }))],
        ["webappjobs", plain, (template: object) => Locked.create(jobs, shop, Locked.webappJob(template))]
      ] as const
      const contexts = [
        { seccompProfile: { type: "Unconfined" } },
        { appArmorProfile: { type: "Unconfined" } },
        { seLinuxOptions: { type: "spc_t" } },
        { seLinuxOptions: { user: "system_u" } },
        { seLinuxOptions: { role: "system_r" } }
      ]
      const text = (where: string) =>
        `security context forbidden: ${where} (must meet the baseline of Pod Security, without sysctls)`
      for (const [policy, first, pod] of kinds) {
        const container = (more: { readonly securityContext?: object; readonly [field: string]: unknown }) => {
          const own = "securityContext" in first ? first.securityContext : {}
          return pod({
            containers: [
              { ...first, name: "second" },
              { ...first, ...more, securityContext: { ...own, ...more.securityContext } }
            ]
          })
        }
        for (const securityContext of contexts) {
          yield* denies(policy, pod({ securityContext }), text("pod"))
          yield* denies(policy, container({ securityContext }), text(first.name))
        }
        yield* denies(
          policy,
          pod({ nodeName: "node-1" }),
          "field of the pod template forbidden: nodeName (must not be set)"
        )
        for (const priorityClassName of ["system-node-critical", "system-cluster-critical"]) {
          yield* denies(
            policy,
            pod({ priorityClassName }),
            `priorityClassName forbidden: ${priorityClassName} (must not begin with system-)`
          )
        }
        yield* accepts(pod({ priorityClassName: "low", nodeSelector: { disk: "fast" } }))
        const sysctls = [{ name: "kernel.shm_rmid_forced", value: "1" }]
        yield* denies(policy, pod({ securityContext: { sysctls } }), text("pod"))
        yield* denies(
          policy,
          container({ ports: [{ containerPort: 80, hostPort: 80 }] }),
          `hostPort forbidden: container: ${first.name} (must not be set)`
        )
        const outside = [
          { httpGet: { host: "169.254.169.254", port: 80 } },
          { tcpSocket: { host: "10.0.0.1", port: 80 } }
        ]
        for (const action of outside) {
          const places = ["livenessProbe", "readinessProbe", "startupProbe"].map((probe) => ({ [probe]: action }))
          const hooks = ["postStart", "preStop"].map((hook) => ({ lifecycle: { [hook]: action } }))
          for (const place of [...places, ...hooks]) {
            yield* denies(
              policy,
              container(place),
              `host of a probe or hook forbidden: container: ${first.name} (must not be set)`
            )
          }
        }
        const inside = { httpGet: { path: "/", port: 80 } }
        yield* accepts(container({ livenessProbe: inside, lifecycle: { preStop: inside } }))
        yield* accepts(
          pod({
            securityContext: {
              seccompProfile: { type: "RuntimeDefault" },
              seLinuxOptions: { level: "s0:c1", type: "container_t" }
            }
          })
        )
        yield* accepts(container({ ports: [{ containerPort: 80 }] }))
      }
    })
  )

  locked(
    "accept only Deployments, Services and routes of the WebApp with their name, and those given away",
    ({ accepts, denies, make, shop }) =>
      Effect.gen(function* () {
        const text = (owner: string) =>
          `owner forbidden: ${owner} (must be the WebApp with the same name, as controller; or none, with the adopt annotation)`
        const children: ReadonlyArray<readonly [string, string, (changes: { readonly metadata: object }) => object]> = [
          ["deployments", deployments, Locked.deployment],
          ["services", services, Locked.service],
          ["routes", "networking.k8s.io/v1/ingresses", Locked.ingress]
        ]
        const adopt = { "apps.kubedojo.io/adopt": "true" }
        for (const [policy, resource, object] of children) {
          const owned = (...ownerReferences: ReadonlyArray<object>) =>
            Locked.create(resource, shop, object({ metadata: { ownerReferences } }))
          yield* accepts(owned(Locked.ofWebApp))
          yield* denies(policy, owned(), text("none"))
          yield* denies(policy, owned(Locked.ofBackup), text("backup.example.com/v1 Backup shop"))
          const other = { ...Locked.ofWebApp, name: "other" }
          yield* denies(policy, owned(other), text("apps.kubedojo.io/v1beta1 WebApp other"))
          const group = Locked.reference("example.org/v1", "WebApp", "shop")
          yield* denies(policy, owned(group), text("example.org/v1 WebApp shop"))
          // An annotation on a new object does not release the object to other owners.
          const annotated = object({ metadata: { ownerReferences: [], annotations: adopt } })
          yield* denies(policy, Locked.create(resource, shop, annotated), text("none"))

          const take = (made: Made) =>
            put(made, (object) => ({
              ...object,
              metadata: { ...object.metadata, ownerReferences: [Locked.ofWebApp], annotations: adopt }
            }))
          const unowned = yield* make(resource, object({ metadata: { ownerReferences: [] } }))
          yield* denies(policy, take(unowned), text("none"))
          yield* denies(
            policy,
            put(unowned, (object) => object),
            text("none")
          )
        }
        const metadata = { name: "foreign", ownerReferences: [] }
        const foreign = yield* make("networking.k8s.io/v1/ingresses", Locked.ingress({ metadata }))
        yield* denies("routes", { method: "DELETE", path: foreign.path }, text("none"))
        const given: ReadonlyArray<readonly [string, object]> = [
          ["adopt", adopt],
          ["orphan", { "homeostat.dev/intent": "0123" }]
        ]
        for (const [name, annotations] of given) {
          const made = yield* make(
            deployments,
            Locked.deployment({ metadata: { name, ownerReferences: [], annotations } })
          )
          const ownerReferences = [{ ...Locked.ofWebApp, name }]
          yield* accepts(put(made, (object) => ({ ...object, metadata: { ...object.metadata, ownerReferences } })))
          yield* accepts(put(made, (object) => object))
        }
        const annotations = { "apps.kubedojo.io/adopt": "false" }
        const kept = yield* make(
          deployments,
          Locked.deployment({ metadata: { name: "kept", ownerReferences: [], annotations } })
        )
        yield* denies(
          "deployments",
          put(kept, (object) => object),
          text("none")
        )
        const held = Locked.reference("v1", "ConfigMap", "holder")
        const holders = yield* make(
          deployments,
          Locked.deployment({ metadata: { name: "held", ownerReferences: [held], annotations: adopt } })
        )
        yield* denies(
          "deployments",
          put(holders, (object) => object),
          text("v1 ConfigMap holder")
        )
      })
  )

  locked("accept only plain pods and Services of WebApps", ({ accepts, denies, make, shop }) =>
    Effect.gen(function* () {
      const kinds = [
        ["deployments", (template: object) => Locked.create(deployments, shop, Locked.deployment({ template }))],
        ["webappjobs", (template: object) => Locked.create(jobs, shop, Locked.webappJob(template))]
      ] as const
      for (const [policy, pod] of kinds) {
        const field = (name: string) => `field of the pod template forbidden: ${name} (must not be set)`
        yield* denies(policy, pod({ serviceAccountName: "admin" }), field("serviceAccountName"))
        yield* accepts(pod({ serviceAccountName: "default" }))
        for (const name of ["hostNetwork", "hostPID", "hostIPC"]) {
          yield* denies(policy, pod({ [name]: true }), field(name))
        }
        const types =
          "configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected, secret"
        for (const source of [
          { hostPath: { path: "/" } },
          { nfs: { server: "10.0.0.1", path: "/" } },
          { iscsi: { targetPortal: "10.0.0.1", iqn: "iqn.2026-11.example:a", lun: 0 } }
        ]) {
          yield* denies(
            policy,
            pod({ volumes: [{ name: "root", ...source }] }),
            `volume forbidden: root (must be one of ${types})`
          )
        }
        const ephemeral = (more: object) => {
          const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...more }
          return pod({ volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec } } }] })
        }
        for (const source of [
          { dataSource: { kind: "PersistentVolumeClaim", name: "victim" } },
          { dataSourceRef: { kind: "PersistentVolumeClaim", name: "victim" } },
          { selector: { matchLabels: { app: "victim" } } },
          { volumeName: "victim" }
        ]) {
          yield* denies(
            policy,
            ephemeral(source),
            "claim of an ephemeral volume forbidden: scratch (must not have the data of another claim)"
          )
        }
        for (const source of [{ configMap: { name: "a" } }, { csi: { driver: "secrets-store.csi.k8s.io" } }, {}]) {
          yield* accepts(pod({ volumes: [{ name: "root", ...source }] }))
        }
        yield* accepts(ephemeral({ storageClassName: "fast" }))
        const app = { name: "app", image: "registry.test/web:1" }
        const text = "privileges forbidden: container: bad (must not be privileged or add capabilities)"
        for (const securityContext of [{ privileged: true }, { capabilities: { add: ["SYS_ADMIN"] } }]) {
          const bad = { ...app, name: "bad", securityContext }
          yield* denies(policy, pod({ containers: [app, bad] }), text)
          yield* denies(policy, pod({ containers: [app], initContainers: [bad] }), text)
        }
        yield* accepts(pod({ containers: [{ ...app, securityContext: { capabilities: { drop: ["ALL"] } } }] }))
      }

      const service = (spec: object) => Locked.create(services, shop, Locked.service({ spec }))
      for (const type of ["NodePort", "LoadBalancer"]) {
        yield* denies("services", service({ type }), `type of the Service forbidden: ${type} (must be ClusterIP)`)
      }
      const addresses = { externalIPs: ["192.0.2.1"] }
      yield* denies("services", service(addresses), "externalIPs forbidden: 192.0.2.1 (must be empty)")
      // Users may have set these fields, and the manager may keep them.
      const kept = yield* make(services, Locked.service({ spec: { type: "NodePort", ...addresses } }))
      yield* accepts(put(kept, (object) => ({ ...object, metadata: { ...object.metadata, labels: { a: "b" } } })))
      yield* denies(
        "services",
        put(kept, (object) => ({ ...object, spec: { ...object.spec, externalIPs: ["192.0.2.2"] } })),
        "externalIPs forbidden: 192.0.2.2 (must be empty)"
      )
      yield* denies(
        "services",
        put(kept, (object) => ({ ...object, spec: { ...object.spec, type: "LoadBalancer" } })),
        "type of the Service forbidden: LoadBalancer (must be ClusterIP)"
      )
    })
  )

  locked("accept only autoscalers, budgets and NetworkPolicies of a WebApp", ({ accepts, denies, make, shop }) =>
    Effect.gen(function* () {
      const owner = (name: string) =>
        `owner forbidden: ${name} (must be the WebApp with the same name, as controller; or none, with the adopt annotation)`
      const children = [
        ["autoscalers", "autoscaling/v2/horizontalpodautoscalers", Locked.autoscaler],
        ["budgets", "policy/v1/poddisruptionbudgets", Locked.budget],
        ["access", "networking.k8s.io/v1/networkpolicies", Locked.networkPolicy]
      ] as const
      for (const [policy, resource, object] of children) {
        yield* accepts(Locked.create(resource, shop, object()))
        const other = { name: "other", ownerReferences: [Locked.ofWebApp] }
        const text = owner("apps.kubedojo.io/v1beta1 WebApp shop")
        yield* denies(policy, Locked.create(resource, shop, object({ metadata: other })), text)

        const own = yield* make(resource, object())
        const labelled = (each: Stored) => ({ ...each, metadata: { ...each.metadata, labels: { a: "b" } } })
        yield* accepts(put(own, labelled))
        yield* accepts({ method: "DELETE", path: own.path })
        const foreign = yield* make(resource, object({ metadata: { name: "foreign", ownerReferences: [] } }))
        yield* denies(policy, put(foreign, labelled), owner("none"))
        yield* denies(policy, { method: "DELETE", path: foreign.path }, owner("none"))
      }
      const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "cart" }
      yield* denies(
        "autoscalers",
        Locked.create("autoscaling/v2/horizontalpodautoscalers", shop, Locked.autoscaler({ spec: { scaleTargetRef } })),
        "target forbidden: Deployment cart (must be the Deployment with the same name)"
      )
      const policy = (spec: object) =>
        Locked.create("networking.k8s.io/v1/networkpolicies", shop, Locked.networkPolicy({ spec }))
      yield* denies(
        "access",
        policy({ policyTypes: ["Ingress", "Egress"] }),
        "policyTypes forbidden: Ingress, Egress (must be Ingress)"
      )
      yield* denies(
        "access",
        policy({ podSelector: {} }),
        "selector forbidden: spec.podSelector (must select the pods of the WebApp by a label or the operator In)"
      )
      const all = { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] }
      const some = { matchExpressions: [{ key: "app", operator: "In", values: ["shop"] }] }
      const budgets = "policy/v1/poddisruptionbudgets"
      for (const selector of [{}, all]) {
        const text = (field: string) =>
          `selector forbidden: ${field} (must select the pods of the WebApp by a label or the operator In)`
        yield* denies("access", policy({ podSelector: selector }), text("spec.podSelector"))
        const budget = Locked.budget({ spec: { selector } })
        yield* denies("budgets", Locked.create(budgets, shop, budget), text("spec.selector"))
      }
      const metadata = { name: "cart", ownerReferences: [{ ...Locked.ofWebApp, name: "cart" }] }
      const cart = Locked.networkPolicy({ metadata, spec: { podSelector: some } })
      yield* accepts(Locked.create("networking.k8s.io/v1/networkpolicies", shop, cart))
      const budget = Locked.budget({ metadata, spec: { selector: some, maxUnavailable: "10%" } })
      yield* accepts(Locked.create(budgets, shop, budget))
      for (const spec of [
        { maxUnavailable: 0 },
        { maxUnavailable: "0%" },
        { maxUnavailable: undefined, minAvailable: "100%" }
      ]) {
        yield* denies(
          "budgets",
          Locked.create(budgets, shop, Locked.budget({ spec })),
          "budget forbidden: spec (must have a maxUnavailable of at least 1 or 1%)"
        )
      }
    })
  )

  locked("accept only routes for a host to the Service of the WebApp, without annotations of others", (scene) =>
    Effect.gen(function* () {
      const { accepts, cluster, denies, make, shop } = scene
      yield* cluster.install(GatewayApi.definition)
      const ingresses = "networking.k8s.io/v1/ingresses"
      const ingress = (changes: Parameters<typeof Locked.ingress>[0]) =>
        Locked.create(ingresses, shop, Locked.ingress(changes))
      const httpRoute = (changes: Parameters<typeof Locked.httpRoute>[0]) =>
        Locked.create("gateway.networking.k8s.io/v1/httproutes", shop, Locked.httpRoute(changes))
      const backend = "backend forbidden: shop (must be the Service with the same name, without filters)"
      const host = "route without a host forbidden: shop (each rule must have a host)"
      const service = { name: "shop", port: { number: 80 } }

      yield* accepts(httpRoute({}))
      yield* denies("routes", ingress({ spec: { rules: [Locked.ruleFor("shop"), Locked.ruleFor("cart")] } }), backend)
      yield* denies("routes", ingress({ spec: { defaultBackend: { service } } }), backend)
      yield* denies("routes", ingress({ spec: { rules: undefined, defaultBackend: { service } } }), host)
      yield* denies("routes", ingress({ spec: { rules: [Locked.ruleFor("shop", "")] } }), host)
      for (const other of [{ name: "cart" }, { namespace: "kube-system" }, { kind: "Other", group: "example.org" }]) {
        yield* denies("routes", httpRoute({ backend: other }), backend)
      }
      const filters = [{ type: "RequestMirror" }]
      yield* denies("routes", httpRoute({ backend: { filters } }), backend)
      const { spec } = Locked.httpRoute()
      yield* denies("routes", httpRoute({ spec: { rules: [{ ...spec.rules[0], filters }] } }), backend)
      yield* denies("routes", httpRoute({ spec: { hostnames: [] } }), host)

      const snippet = { "nginx.ingress.kubernetes.io/configuration-snippet": "return 200;" }
      const annotated = (annotations: object) => ingress({ metadata: { annotations } })
      const forbidden = (name: string) =>
        `annotation forbidden: ${name} (must be one that the controller sets, or stay as it is)`
      yield* denies("routes", annotated(snippet), forbidden("nginx.ingress.kubernetes.io/configuration-snippet"))
      yield* accepts(
        annotated({
          "cert-manager.io/cluster-issuer": "letsencrypt",
          "homeostat.dev/intent": "0123",
          "example.org/trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        })
      )
      // A user may have set these fields.
      const annotations = { "example.org/rate": "10" }
      const kept = yield* make(
        ingresses,
        Locked.ingress({ metadata: { annotations }, spec: { defaultBackend: { service } } })
      )
      yield* accepts(put(kept, (object) => ({ ...object, metadata: { ...object.metadata, labels: { a: "b" } } })))
      const changed = { "example.org/rate": "11" }
      yield* denies(
        "routes",
        put(kept, (object) => ({ ...object, metadata: { ...object.metadata, annotations: changed } })),
        forbidden("example.org/rate")
      )
    })
  )

  locked("accept only ControllerRevisions of a WebApp", ({ accepts, denies, make, shop }) =>
    Effect.gen(function* () {
      const resource = "apps/v1/controllerrevisions"
      const owner = (name: string) =>
        `owner forbidden: ${name} (must be a WebApp with whose name the name begins, as controller)`
      yield* accepts(Locked.create(resource, shop, Locked.revision()))
      const other = { name: "other-0123456789abcdef" }
      const text = owner("apps.kubedojo.io/v1beta1 WebApp shop")
      yield* denies("revisions", Locked.create(resource, shop, Locked.revision(other)), text)

      const own = yield* make(resource, Locked.revision())
      const labelled = (each: Stored) => ({ ...each, metadata: { ...each.metadata, labels: { a: "b" } } })
      yield* accepts(put(own, labelled))
      yield* accepts({ method: "DELETE", path: own.path })
      const ofStatefulSet = [{ ...Locked.ofWebApp, apiVersion: "apps/v1", kind: "StatefulSet" }]
      const foreign = yield* make(resource, Locked.revision({ name: "shop-1", ownerReferences: ofStatefulSet }))
      yield* denies("revisions", put(foreign, labelled), owner("apps/v1 StatefulSet shop"))
      yield* denies("revisions", { method: "DELETE", path: foreign.path }, owner("apps/v1 StatefulSet shop"))
    })
  )

  locked("accept only claims like those of a Restore", ({ accepts, denies, shop }) =>
    Effect.gen(function* () {
      const text = (field: string) =>
        `field of the PersistentVolumeClaim forbidden: ${field} (must be one of spec.volumeClaimTemplate of a Restore)`
      const source = { kind: "PersistentVolumeClaim", name: "app" }
      yield* accepts(Locked.create(claims, shop, Locked.claim({ storageClassName: "" }, { labels: { a: "b" } })))
      for (const [field, value] of Object.entries({
        selector: { matchLabels: { a: "b" } },
        volumeName: "disk"
      })) {
        yield* denies("claims", Locked.create(claims, shop, Locked.claim({ [field]: value })), text(field))
      }
      // The API server copies each of these fields to the other one.
      const both = text("dataSource, dataSourceRef")
      yield* denies("claims", Locked.create(claims, shop, Locked.claim({ dataSource: source })), both)
      yield* denies("claims", Locked.create(claims, shop, Locked.claim({ dataSourceRef: source })), both)
      const owned = Locked.claim({}, { ownerReferences: [Locked.ofBackup] })
      yield* denies("claims", Locked.create(claims, shop, owned), text("ownerReferences"))
    })
  )

  locked("let the manager change only finalizers and status of its kinds", ({ accepts, denies, make }) =>
    Effect.gen(function* () {
      const text = (field: string) => `change forbidden: ${field} (must be of metadata.finalizers or the status)`
      const backup = { source: "app", destination: "pvc://store" }
      const kinds: ReadonlyArray<readonly [string, object, object, object]> = [
        [webapps, { apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp" }, { image: "a:1" }, { image: "a:2" }],
        [backups, { apiVersion: "backup.example.com/v1", kind: "Backup" }, backup, { ...backup, suspend: true }],
        [
          restores,
          { apiVersion: "backup.example.com/v1", kind: "Restore" },
          { backupRef: "shop", targetPVC: "fresh" },
          {}
        ]
      ]
      for (const [resource, type, spec, changed] of kinds) {
        const made = yield* make(resource, { ...type, metadata: { name: "shop", labels: { a: "b" } }, spec })
        const metadata = (change: object) =>
          put(made, (object) => ({ ...object, metadata: { ...object.metadata, ...change } }))
        yield* accepts(metadata({ finalizers: ["backup.example.com/finalizer"] }))
        yield* accepts(put(made, (object) => ({ ...object, status: { phase: "Pending" } }), "/status"))
        yield* denies("kinds", metadata({ labels: { a: "c" } }), text("labels"))
        yield* denies("kinds", metadata({ labels: undefined }), text("labels"))
        yield* denies("kinds", metadata({ annotations: { a: "b" } }), text("annotations"))
        yield* denies("kinds", metadata({ ownerReferences: [Locked.ofWebApp] }), text("ownerReferences"))
        // The spec of a Restore is immutable for all users.
        if (Object.keys(changed).length === 0) continue
        yield* denies(
          "kinds",
          put(made, (object) => ({ ...object, spec: changed })),
          text("spec")
        )
      }
    })
  )

  locked("accept only CRDs of the program's groups", ({ accepts, cluster, denies, home, strong }) =>
    Effect.gen(function* () {
      const text = (group: string) =>
        `group of the CRD forbidden: ${group} (must be apps.kubedojo.io or backup.example.com)`
      const create = (group: string) => Locked.create(crds, undefined, Locked.crd(group))
      yield* accepts(create("apps.kubedojo.io"))
      yield* accepts(create("backup.example.com"))
      yield* denies("crds", create("example.org"), text("example.org"))
      const converting = (clientConfig: object) => {
        const definition = Locked.crd("apps.kubedojo.io")
        const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig } }
        return Locked.create(crds, undefined, { ...definition, spec: { ...definition.spec, conversion } })
      }
      const service = { name: "homeostat-webhook", namespace: home, path: "/convert" }
      yield* accepts(converting({ service }))
      for (const clientConfig of [
        { url: "https://evil.example.com/convert" },
        { service: { ...service, namespace: "default" } }
      ]) {
        yield* denies(
          "crds",
          converting(clientConfig),
          "conversion of the CRD forbidden: things.apps.kubedojo.io (must be None, or by a Service in the namespace of the manager)"
        )
      }
      const path = `${Locked.pathOf(crds, undefined)}/things.example.net`
      yield* Effect.acquireRelease(
        cluster.request("POST", Locked.pathOf(crds, undefined), { body: Locked.crd("example.net") }),
        () => Effect.ignore(cluster.request("DELETE", path))
      )
      // The API server writes the conditions of a new CRD, so the update may conflict.
      const answer = yield* Managed.eventually(
        "an update without a conflict",
        Effect.flatMap(cluster.request("GET", path), ({ body }) =>
          Locked.ask(cluster, strong, { method: "PUT", path, body: JSON.parse(body) })
        ),
        ({ status }) => status !== 409
      )
      expect(answer.message).toContain(Locked.denial("crds", text("example.net")))
    }).pipe(Effect.scoped)
  )
})
