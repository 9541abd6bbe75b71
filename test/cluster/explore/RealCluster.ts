/**
 * A real cluster for a world. Each world has its own namespaces, so that many worlds can share the cluster. At its end, the world deletes
 * its namespaces and its cluster-scoped objects.
 */
import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import { apiVersionOf, type Any as Kind } from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as EmbeddedCluster from "../EmbeddedCluster.ts"
import * as Api from "../envtest/Api.ts"
import type { ControlPlane } from "../envtest/ControlPlane.ts"
import { type Asked, askedOf } from "../RequestMatch.ts"
import { collectionOf, type Ground, holderOf, lease, matters } from "./Ground.ts"
import * as Namespaces from "./Namespaces.ts"
import type { RealTime } from "./RealTime.ts"
import type { Story } from "./Story.ts"
import * as Views from "./Views.ts"
import * as Wire from "./Wire.ts"

/** The initial namespaces of a world. */
const namespaces = ["default", "kube-system"]

/**
 * The time without a change in milliseconds after which the cluster is quiet. The garbage collector deletes dependents some milliseconds
 * after the owner.
 */
const quietMillis = 400

/** The maximum time in milliseconds for consecutive changes and for the garbage collector. */
const longestGarbage = 15_000

/** The maximum time until a role takes effect, in milliseconds. */
const longestRole = 10_000

const sleep = (millis: number): Effect.Effect<void> => Effect.promise(() => Bun.sleep(millis))

const known: ReadonlyArray<Kind> = [
  BuiltIn.Namespace,
  BuiltIn.Lease,
  BuiltIn.ClusterRole,
  BuiltIn.ClusterRoleBinding,
  BuiltIn.Role,
  BuiltIn.RoleBinding
]

/** Adds a suffix to the names of roles and bindings. */
const renamed = (roles: ReadonlyArray<Json.JsonObject>, suffix: string): ReadonlyArray<object> => {
  const named = (part: Json.Json | undefined): Json.JsonObject => ({
    ...Json.object(part),
    name: `${Json.text(Json.at(part, "name"))}${suffix}`
  })
  return roles.map(({ metadata, roleRef, ...role }) => ({
    ...role,
    metadata: named(metadata),
    ...(roleRef === undefined ? {} : { roleRef: named(roleRef) })
  }))
}

/** Sends requests as another user, by impersonation as the administrator. */
const impersonating = (user: string, next: Transport.Transport["Service"]): Transport.Transport["Service"] => {
  const as = (request: Request): Request => ({
    ...request,
    headers: { ...request.headers, "impersonate-user": user }
  })
  return Transport.Transport.of({
    ...next,
    send: (request) => next.send(as(request)),
    open: (request) => next.open(as(request))
  })
}

/** Returns the permission of the first rule of a role, as the attributes of an access review. */
const permitted = (role: Json.JsonObject): Json.JsonObject | undefined => {
  const [rule] = Json.objects(role.rules)
  if (rule === undefined) return undefined
  const first = (name: string) => Json.text(Json.list(rule[name])[0]) ?? ""
  const [resource = "", subresource = ""] = first("resources").split("/")
  const namespace = Json.text(Json.at(role, "metadata", "namespace"))
  return { group: first("apiGroups"), resource, subresource, verb: first("verbs"), namespace }
}

/** Whether the garbage collector has work: an object with missing owners, or one that waits for its dependents. */
const hasGarbage = ({ storages }: Store.Saved): boolean => {
  const objects = Object.values(storages).flat()
  const kinds = new Set(objects.map(({ kind }) => kind))
  const idOf = (metadata: Json.Json | undefined, uid = Json.at(metadata, "uid")): string =>
    `${Json.at(metadata, "namespace") ?? ""}/${uid}`
  const ids = new Set(objects.map(({ metadata }) => idOf(metadata)))
  return objects.some(({ metadata }) => {
    const owners = Json.list(Json.at(metadata, "ownerReferences"))
    const finalizers = Json.list(Json.at(metadata, "finalizers"))
    return (
      finalizers.includes("foregroundDeletion") ||
      finalizers.includes("orphan") ||
      (owners.length > 0 &&
        owners.every((owner) => {
          const uid = Json.at(owner, "uid")
          // An owner in another namespace does not count.
          return kinds.has(Json.at(owner, "kind")) && !ids.has(idOf(metadata, uid)) && !ids.has(`/${uid}`)
        }))
    )
  })
}

/** Returns a part of a real cluster for one world. */
export const make = (
  story: Story,
  { admin }: ControlPlane,
  time: RealTime
): Effect.Effect<Ground, never, Scope.Scope> =>
  Effect.gen(function* () {
    const suffix = `-${crypto.randomUUID().slice(0, 8)}`
    const { ca, cert, key, server, token } = admin
    const source = "the control plane of the test"
    const network = yield* Transport.make(Cluster.make({ server, token, tls: { ca, cert, key }, source }))
    const mapped = Namespaces.over(suffix, network)

    /** The cluster-scoped objects of the world. */
    const made = new Set<string>()
    const noted: Transport.Transport["Service"] = {
      ...mapped,
      send: (request) =>
        Effect.tap(mapped.send(request), ({ body, status }) =>
          Effect.sync(() => {
            const { collection, name, namespace } = askedOf(request)
            if (status !== 201 || namespace !== "" || collection.includes("review")) return
            const given = name === "" ? Json.text(Json.at(JSON.parse(body), "metadata", "name")) : name
            made.add(`${collection}/${given}`)
          })
        )
    }
    const transport = time.over(noted)
    const client = yield* Layer.build(Layer.provide(Client.layer(), transport))
    const observer = yield* Layer.build(
      Layer.provide(Client.layer(), Layer.succeed(Transport.Transport, Transport.Transport.of(noted)))
    )
    const raw = (method: "GET" | "POST", path: string, body?: object) =>
      Client.raw({ method, path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }).pipe(
        Effect.provide(observer)
      )
    const text = (path: string): Effect.Effect<string> =>
      raw("GET", path).pipe(
        Effect.map(({ body }) => body),
        Effect.catchTag("NotFound", () => Effect.succeed("null")),
        Effect.orDie
      )

    const kinds = [...known, ...story.controllers.map(({ resource }) => resource)]
    const create: Ground["create"] = (objects) =>
      Effect.forEach(
        objects,
        (object) => {
          const wanted: Json.JsonObject = JSON.parse(JSON.stringify(object))
          const { apiVersion, kind, metadata } = wanted
          const resource = kinds.find((one) => apiVersionOf(one) === apiVersion && one.kind === kind)
          if (resource === undefined) return Effect.die(new Error(`kind not found: ${apiVersion} ${kind}`))
          const { namespace } = Json.texts(metadata)
          const collection = collectionOf(resource)
          const at = collection.lastIndexOf("/")
          const path =
            namespace === undefined
              ? collection
              : `${collection.slice(0, at)}/namespaces/${namespace}${collection.slice(at)}`
          return Effect.orDie(raw("POST", path, wanted))
        },
        { discard: true }
      )

    yield* Effect.addFinalizer(() =>
      Effect.forEach(
        [...made],
        (path) => {
          const isNamespace = path.startsWith("/api/v1/namespaces/")
          return Effect.ignore(Api.request(admin, "DELETE", isNamespace ? `${path}${suffix}` : path))
        },
        { discard: true }
      )
    )
    yield* create(namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })))

    const isStored = ({ collection }: Pick<Asked, "collection">): boolean =>
      !collection.includes("review") && matters(Wire.storageOf(collection))
    const collections = new Set(
      story.controllers
        .flatMap(({ access, resource, triggers }) => [
          collectionOf(resource),
          ...triggers.map((trigger) => collectionOf(trigger.resource)),
          ...access.flatMap(({ resource }) =>
            "version" in resource && typeof resource.version === "string"
              ? [collectionOf({ ...resource, version: resource.version })]
              : []
          )
        ])
        .filter((collection) => isStored({ collection }))
    )

    /** Reuses unchanged objects, so that they are the same in two states. */
    const objects = new Map<string, Json.JsonObject>()
    const listed = (collection: string) =>
      Effect.map(text(collection), (body) => {
        // The cluster may not serve an optional kind.
        const list = Json.object(JSON.parse(body))
        const kind = Json.text(list.kind)?.replace(/List$/, "")
        return Json.objects(list.items).map((item) => {
          const id = `${Json.at(item, "metadata", "uid")}/${Json.at(item, "metadata", "resourceVersion")}`
          const object = objects.get(id) ?? { apiVersion: list.apiVersion, kind, ...item }
          objects.set(id, object)
          return object
        })
      })
    const saved = Effect.gen(function* () {
      const storages: { [storage: string]: ReadonlyArray<Json.JsonObject> } = {}
      for (const collection of collections) storages[Wire.storageOf(collection)] = yield* listed(collection)
      return { revision: 0, storages }
    })
    const versions = ({ storages }: Store.Saved): string =>
      Object.values(storages)
        .flat()
        .map(({ metadata }) => `${Json.at(metadata, "uid")}/${Json.at(metadata, "resourceVersion")}`)
        .join()
    let isRestless = false
    let seen = { activity: -1, versions: "" }
    const changes = Effect.gen(function* () {
      if (time.activity() === seen.activity) return seen.versions
      const began = performance.now()
      let before = yield* saved
      while (!isRestless) {
        yield* sleep(quietMillis)
        const now = yield* saved
        if (versions(now) === versions(before) && !hasGarbage(now)) break
        before = now
        isRestless = performance.now() - began > longestGarbage
      }
      seen = { activity: time.activity(), versions: versions(yield* saved) }
      return seen.versions
    })

    let posts = 0
    const revision: Ground["revision"] = ({ asked, path }) => {
      if (isStored(asked)) collections.add(asked.collection)
      if (asked.name === "") return Effect.sync(() => posts++)
      const [plain = ""] = path.split("?", 1)
      const object = asked.subresource === "" ? plain : plain.slice(0, -asked.subresource.length - 1)
      return Effect.map(text(object), (body) => {
        const metadata = Json.at(JSON.parse(body), "metadata")
        return `${Json.at(metadata, "uid")}/${Json.at(metadata, "resourceVersion")}`
      })
    }

    const own = Effect.gen(function* () {
      const roles: ReadonlyArray<Json.JsonObject> = JSON.parse(JSON.stringify(story.roles))
      yield* create(renamed(roles, suffix))
      const [system, account, namespace, ...rest] = EmbeddedCluster.subjectOf(story.roles).name.split(":")
      const user =
        system === "system" && account === "serviceaccount"
          ? [system, account, `${namespace}${suffix}`, ...rest].join(":")
          : EmbeddedCluster.subjectOf(story.roles).name
      const program = time.over(impersonating(user, noted))
      const reviewer = yield* Layer.build(Layer.provide(Client.layer(), program))
      const isEffective = (resourceAttributes: Json.JsonObject) =>
        Client.raw({
          method: "POST",
          path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          body: JSON.stringify({ spec: { resourceAttributes } })
        }).pipe(
          Effect.map(({ body }) => Json.at(JSON.parse(body), "status", "allowed") === true),
          Effect.provide(reviewer),
          Effect.orDie
        )
      for (const attributes of roles.map(permitted).filter((one) => one !== undefined)) {
        for (let waited = 0; waited < longestRole && !(yield* isEffective(attributes)); waited += 20) yield* sleep(20)
      }
      return program
    })

    const scope = yield* Effect.scope
    return {
      time,
      views: Views.make(),
      transport,
      client: Layer.succeedContext(client),
      own: Scope.provide(own, scope),
      create,
      saved,
      changes,
      revision,
      leader: Effect.map(
        text(`/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases/${lease.name}`),
        (body) => holderOf(Json.object(JSON.parse(body)))
      ),
      instant: time.instant,
      reseed: () => undefined,
      isRestless: () => isRestless || time.isRestless()
    }
  })
