/**
 * The prerequisites that a Backup or Restore finds in its namespace. These tests run no programs: they write the phases of claims and pods.
 * On a real control plane, the checks run as a user with exactly the permissions of `Prerequisites.access`.
 */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Destination from "@homeostat/backup/repository/Destination"
import * as Prerequisites from "@homeostat/backup/run/Prerequisites"
import * as Client from "@homeostat/runtime/client/Client"
import * as Pages from "@homeostat/runtime/client/Pages"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import {
  Deployment,
  PersistentVolumeClaim,
  Pod,
  Role,
  RoleBinding,
  Secret,
  StatefulSet
} from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Lane from "@homeostat/testkit/Lane"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Layer, Result, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"

interface Place {
  readonly namespace: string
  /** The requests of the checks, such as `GET secrets/x`. */
  readonly requests: ReadonlyArray<string>
  readonly look: <A, E>(effect: Effect.Effect<A, E, Client.Client>) => Effect.Effect<A, E>
}

/** The name of a Secret that no client may read. The API server's response follows. */
const locked = "locked"
const refusal = {
  status: 403,
  headers: new Headers(),
  body: JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "secrets is forbidden" })
}

/** A user with the permissions of the checks. On the embedded cluster, which allows every request, the administrator. */
const reader = (cluster: ControlPlane, namespace: string) =>
  Effect.gen(function* () {
    if (Lane.current === "embedded") return cluster.admin
    const name = `looks-in-${namespace}`
    const user = yield* cluster.addUser({ name })
    yield* Client.create(Role, {
      metadata: { namespace, name },
      rules: Prerequisites.access.map(({ resource, verbs }) => ({
        apiGroups: [resource.group],
        resources: [resource.plural],
        verbs: [...verbs]
      }))
    })
    yield* Client.create(RoleBinding, {
      metadata: { namespace, name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }]
    })
    return user
  })

const test = (name: string, body: (place: Place) => Effect.Effect<void, unknown, Client.Client | Scope.Scope>) =>
  Shared.cluster(name, (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("look")
      const admin = yield* Managed.client(cluster)
      const user = yield* Effect.provide(reader(cluster, namespace), admin)
      const requests: Array<string> = []
      const noting = Layer.effect(
        Transport.Transport,
        Effect.map(Transport.Transport, (next) => ({
          ...next,
          send: (request: Request) => {
            requests.push(`${request.method} ${request.path.replace(/^.*\/namespaces\/[^/]+\//, "")}`)
            return request.path.endsWith(`/${locked}`) ? Effect.succeed(refusal) : next.send(request)
          }
        }))
      )
      const client = yield* Layer.build(
        Client.layer().pipe(Layer.provide(noting), Layer.provide(Transport.layer(Counted.clusterOf(user))))
      )
      // The API server reads new roles from a watch.
      const claims = Effect.provide(Client.list(PersistentVolumeClaim, { namespace }), client)
      yield* Managed.eventually("that the role applies", claims, () => true)
      requests.length = 0
      const place: Place = { namespace, requests, look: Effect.provide(client) }
      return yield* Effect.provide(body(place), admin)
    })
  )

const claim = (
  { namespace }: Place,
  name: string,
  { phase = "Bound", volumeMode = "Filesystem" }: { readonly phase?: string; readonly volumeMode?: string } = {}
) =>
  Client.create(PersistentVolumeClaim, {
    metadata: { namespace, name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      volumeMode,
      storageClassName: "none",
      resources: { requests: { storage: "1Gi" } }
    }
  }).pipe(
    Effect.andThen(Client.status.patch(PersistentVolumeClaim, { namespace, name }, Patch.merge({ status: { phase } })))
  )

const toleration = { key: "dedicated", operator: "Exists", effect: "NoSchedule" }

const podSpec = (claimName: string) => ({
  securityContext: { runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000 },
  tolerations: [toleration],
  volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
  containers: [{ name: "app", image: "nothing/runs:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }]
})

const pod = ({ namespace }: Place, name: string, claimName: string, nodeName: string) =>
  Client.create(Pod, { metadata: { namespace, name }, spec: { ...podSpec(claimName), nodeName } })

const labels = { app: "web" }

const deployment = ({ namespace }: Place, name: string, claimName: string) =>
  Client.create(Deployment, {
    metadata: { namespace, name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec(claimName) } }
  })

const statefulSet = ({ namespace }: Place, name: string) =>
  Client.create(StatefulSet, {
    metadata: { namespace, name },
    spec: {
      serviceName: name,
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "nothing/runs:1" }] } },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }
      ]
    }
  })

const secret = ({ namespace }: Place, name: string, stringData: { readonly [key: string]: string }) =>
  Client.apply(Secret, { metadata: { namespace, name }, stringData }, { fieldManager: "test", force: true })

const metadata = (namespace: string, name: string) => ({
  namespace,
  name,
  uid: name,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
})

/** A Backup, as a reconciler reads it. */
const backup = ({ namespace }: Place, source: string, spec: { readonly [field: string]: unknown } = {}) => {
  const wire = { metadata: metadata(namespace, "cart"), spec: { source, destination: "rest+https://host/a", ...spec } }
  return Result.getOrThrow(Backup.decode(wire))
}

const restore = ({ namespace }: Place, targetPVC: string, spec: { readonly [field: string]: unknown } = {}) => {
  const wire = { metadata: metadata(namespace, "back"), spec: { backupRef: "cart", targetPVC, ...spec } }
  return Result.getOrThrow(Restore.decode(wire))
}

const to = (text: string) => Result.getOrThrow(Destination.parse(text))
const elsewhere = to("rest+https://host/a")

/** The reason of a rejection, or each group with its node and its claims. */
const summaryOf = Result.match({
  onFailure: ({ reason }: { readonly reason: string }) => reason,
  onSuccess: (
    groups: ReadonlyArray<{ readonly node: string | undefined; readonly claims: ReadonlyArray<{ name: string }> }>
  ) => groups.map(({ claims, node }) => [node ?? "anywhere", ...claims.map(({ name }) => name)])
})

const sourceOf = (place: Place, source: string, destination = elsewhere) =>
  place.look(Prerequisites.source(backup(place, source), destination))

const targetOf = (place: Place, name: string, spec?: { readonly [field: string]: unknown }, destination = elsewhere) =>
  place.look(Prerequisites.target(restore(place, name, spec), backup(place, "web"), destination))

describe.concurrent("Prerequisites.source finds", () => {
  test("no claim, then a claim, then an ambiguous name", (place) =>
    Effect.gen(function* () {
      expect(summaryOf(yield* sourceOf(place, "web"))).toBe("SourceNotFound")
      yield* claim(place, "web", { phase: "Pending" })
      expect(summaryOf(yield* sourceOf(place, "web"))).toBe("VolumeNotBound")
      yield* Client.status.patch(
        PersistentVolumeClaim,
        { namespace: place.namespace, name: "web" },
        Patch.merge({ status: { phase: "Bound" } })
      )
      expect(summaryOf(yield* sourceOf(place, "web"))).toEqual([["anywhere", "web"]])
      yield* deployment(place, "web", "web-data")
      expect(summaryOf(yield* sourceOf(place, "web"))).toBe("SourceAmbiguous")
      expect(summaryOf(yield* sourceOf(place, "pvc/web"))).toEqual([["anywhere", "web"]])
      expect(summaryOf(yield* sourceOf(place, "deployment/web"))).toBe("SourceNotFound")
    }))

  test("the volumes of a Deployment, with the node, user and tolerations of its pod", (place) =>
    Effect.gen(function* () {
      yield* deployment(place, "web", "web-data")
      yield* claim(place, "web-data")
      yield* pod(place, "web-1", "web-data", "node-b")
      const groups = yield* sourceOf(place, "web")
      expect(summaryOf(groups)).toEqual([["node-b", "web-data"]])
      const [group] = Result.getOrThrow(groups)
      expect(group.security).toEqual({ runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000 })
      expect(group.tolerations).toContainEqual(toleration)
      const asked = yield* place.look(
        Prerequisites.source(backup(place, "web", { podSecurityContext: { runAsUser: 5 } }), elsewhere)
      )
      expect(Result.getOrThrow(asked)[0].security).toEqual({ runAsUser: 5, runAsGroup: 2000, fsGroup: 3000 })
      yield* Client.status.patch(
        Pod,
        { namespace: place.namespace, name: "web-1" },
        Patch.merge({ status: { phase: "Succeeded" } })
      )
      expect(summaryOf(yield* sourceOf(place, "web"))).toEqual([["anywhere", "web-data"]])
    }))

  test("the volumes of a StatefulSet, and the destination claim", (place) =>
    Effect.gen(function* () {
      yield* statefulSet(place, "db")
      yield* claim(place, "data-db-0")
      yield* claim(place, "data-db-1")
      expect(summaryOf(yield* sourceOf(place, "db"))).toEqual([
        ["anywhere", "data-db-0"],
        ["anywhere", "data-db-1"]
      ])
      expect(summaryOf(yield* sourceOf(place, "db", to("pvc://backups")))).toBe("VolumeNotBound")
      yield* claim(place, "backups", { phase: "Pending" })
      yield* pod(place, "archive", "backups", "node-c")
      expect(summaryOf(yield* sourceOf(place, "db", to("pvc://backups")))).toEqual([
        ["node-c", "data-db-0"],
        ["node-c", "data-db-1"]
      ])
      expect(summaryOf(yield* sourceOf(place, "db", to("pvc://data-db-1")))).toBe("VolumeInUse")
    }))

  test("the repository with the node and user of its claim", (place) =>
    Effect.gen(function* () {
      const repository = (destination: Destination.Destination) =>
        place.look(Prerequisites.repository(backup(place, "web"), destination))
      const nobody = { runAsUser: 65_532, runAsGroup: 65_532 }
      expect(yield* repository(elsewhere)).toEqual(
        Result.succeed({ node: undefined, tolerations: [], security: nobody })
      )
      expect(Result.getOrThrow(Result.flip(yield* repository(to("pvc://backups")))).reason).toBe("VolumeNotBound")
      yield* claim(place, "backups")
      yield* pod(place, "archive", "backups", "node-c")
      const { node, security } = Result.getOrThrow(yield* repository(to("pvc://backups")))
      expect([node, security]).toEqual(["node-c", { ...nobody, fsGroup: 3000 }])
      yield* deployment(place, "web", "web-data")
      yield* claim(place, "web-data")
      const as = Result.map(yield* repository(elsewhere), (found) => found.security)
      expect(as).toEqual(Result.succeed({ runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000 }))
    }))

  test("the pod of its volume among many pods, which are listed in small pages", (place) =>
    Effect.gen(function* () {
      yield* claim(place, "web")
      const names = Array.from({ length: Pages.size + 10 }, (_, n) => `pod-${n}`)
      yield* Effect.forEach(names, (name) => pod(place, name, "other", "node-1"), { concurrency: 8, discard: true })
      yield* pod(place, "zz-last", "web", "node-2")
      expect(summaryOf(yield* sourceOf(place, "web"))).toEqual([["node-2", "web"]])
      const pages = place.requests.filter((request) => request.startsWith("GET pods"))
      expect(pages).toHaveLength(2)
      for (const page of pages) expect(page).toContain(`limit=${Pages.size}`)
    }))

  test("no volume that is a block device", (place) =>
    Effect.gen(function* () {
      yield* claim(place, "raw", { volumeMode: "Block" })
      expect(summaryOf(yield* sourceOf(place, "raw"))).toBe("UnsupportedVolumeMode")
    }))
})

describe.concurrent("Prerequisites.target finds", () => {
  test("the target, with the user who read the files", (place) =>
    Effect.gen(function* () {
      yield* deployment(place, "web", "web-data")
      yield* claim(place, "web-data")
      expect(Result.getOrThrow(Result.flip(yield* targetOf(place, "new"))).reason).toBe("TargetNotFound")
      yield* claim(place, "new", { phase: "Pending" })
      const { claims, node, security } = Result.getOrThrow(yield* targetOf(place, "new"))
      expect([claims.map(({ name }) => name), node]).toEqual([["new"], undefined])
      expect(security).toEqual({ runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000 })
    }))

  test("the target without the source, with a group for a new volume", (place) =>
    Effect.gen(function* () {
      yield* claim(place, "new", { phase: "Pending" })
      yield* claim(place, "old")
      const nobody = { runAsUser: 65_532, runAsGroup: 65_532 }
      expect(Result.getOrThrow(yield* targetOf(place, "new")).security).toEqual({ ...nobody, fsGroup: 65_532 })
      // Without overwrite, the target must also be empty.
      expect(Result.getOrThrow(yield* targetOf(place, "old")).security).toEqual({ ...nobody, fsGroup: 65_532 })
      yield* claim(place, "backups")
      // The repository belongs to its group, and the files in the target keep their owners.
      expect(
        Result.getOrThrow(yield* targetOf(place, "old", { overwrite: true }, to("pvc://backups"))).security
      ).toEqual({
        ...nobody,
        supplementalGroups: [65_532]
      })
    }))

  test("a target in use only with overwrite, and then on the node of its pod", (place) =>
    Effect.gen(function* () {
      yield* claim(place, "busy")
      yield* pod(place, "app", "busy", "node-b")
      expect(Result.getOrThrow(Result.flip(yield* targetOf(place, "busy"))).reason).toBe("VolumeInUse")
      expect(Result.getOrThrow(yield* targetOf(place, "busy", { overwrite: true })).node).toBe("node-b")
    }))
})

describe.concurrent("The credentials", () => {
  const repository = {
    caSecretRef: { name: "tls" },
    passwordSecretRef: { name: "vault", key: "pass" },
    region: "eu-central-1"
  }
  const credentials = (place: Place, spec = {}) =>
    place.look(Prerequisites.credentials(backup(place, "web", spec), to("s3://bucket")))

  test("are missing until each key has a value, and contain no values", (place) =>
    Effect.gen(function* () {
      const values = ["hunter2-hunter2", "AKIAFOOBARFOOBAR", "wJalrXUtnFEMI"] as const
      const [password, id, key] = values
      const message = (found: Result.Result<unknown, { readonly message: string }>) =>
        Result.getOrThrow(Result.flip(found)).message
      const seen: Array<string> = []
      const now = Effect.tap(credentials(place), (found) => Effect.sync(() => seen.push(JSON.stringify(found))))
      expect(message(yield* now)).toStartWith(
        "Secret not found: cart-backup-credentials (create it with RESTIC_PASSWORD"
      )
      yield* secret(place, "cart-backup-credentials", {
        RESTIC_PASSWORD: "",
        AWS_ACCESS_KEY_ID: id,
        AWS_SECRET_ACCESS_KEY: key
      })
      expect(message(yield* now)).toBe(
        "keys missing or empty in Secret cart-backup-credentials: RESTIC_PASSWORD (add them)"
      )
      yield* secret(place, "cart-backup-credentials", {
        RESTIC_PASSWORD: password,
        AWS_ACCESS_KEY_ID: id,
        AWS_SECRET_ACCESS_KEY: key
      })
      expect(Result.getOrThrow(yield* now).env.map(({ name }) => name)).toEqual([
        "RESTIC_PASSWORD",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY"
      ])
      for (const value of values) {
        expect(seen.join()).not.toContain(value)
        expect(seen.join()).not.toContain(btoa(value))
      }
    }))

  test("are read by name, each Secret once, and no other", (place) =>
    Effect.gen(function* () {
      yield* secret(place, "vault", { pass: "hunter2-hunter2" })
      yield* secret(place, "tls", { "ca.crt": "PEM" })
      const found = yield* credentials(place, { repository, serviceAccountName: "saver" })
      expect(Result.getOrThrow(found).env).toEqual([
        { name: "RESTIC_PASSWORD", valueFrom: { secretKeyRef: { name: "vault", key: "pass" } } },
        { name: "AWS_DEFAULT_REGION", value: "eu-central-1" },
        { name: "RESTIC_CACERT", value: "/tls/ca.crt" }
      ])
      expect(place.requests.toSorted()).toEqual([
        "GET secrets/cart-backup-credentials",
        "GET secrets/tls",
        "GET secrets/vault"
      ])
    }))

  test("that are forbidden fail the request, and are not reported as missing", (place) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(credentials(place, { repository: { credentialsSecretRef: { name: locked } } }))
      expect(error._tag).toBe("Forbidden")
    }))
})
