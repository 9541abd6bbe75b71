/**
 * `bun test/bench/scale/Server.ts`: an API server in memory for one manager of many WebApps, and the control of its objects and faults. It
 * prints two URLs as JSON.
 *
 * A pump plays the Deployment controller: it reports the pods of each Deployment as available. There are no pods.
 */
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { create } from "@homeostat/testkit/EmbeddedCluster"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Converged from "./Converged.ts"

const namespaces = 100

/** The faults that the server makes now. */
const faults = { rate: 0, isExpiring: false, refused: 0, expired: new Set<string>() }

const answerOf = (status: number, reason: string): ApiServer.HttpResponse => ({
  status,
  headers: { "content-type": "application/json", ...(status === 429 && { "retry-after": "1" }) },
  body: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason, code: status, message: reason })
})

/** The server with faults in front of it. */
const faulty = (server: ApiServer.ApiServer, ends: Set<() => void>): ApiServer.ApiServer => ({
  ...server,
  handle: (request) =>
    Effect.suspend(() => {
      const isWatch = request.path.includes("watch=")
      if (!isWatch && Math.random() < faults.rate) {
        faults.refused++
        return Effect.succeed(Math.random() < 0.5 ? answerOf(429, "TooManyRequests") : answerOf(500, "InternalError"))
      }
      const [kind = ""] = request.path.split("?")
      if (isWatch && faults.isExpiring && !faults.expired.has(kind)) {
        faults.expired.add(kind)
        return Effect.succeed(answerOf(410, "Expired"))
      }
      return Effect.map(server.handle(request), (answer) => {
        if (typeof answer.body === "string") return answer
        const { close, next } = answer.body
        let end: () => void = () => {}
        const ended = Effect.callback<undefined>((resume) => {
          end = () => resume(Effect.succeed(undefined))
          ends.add(end)
        })
        return {
          ...answer,
          body: {
            next: Effect.raceFirst(next, ended),
            close: Effect.andThen(
              Effect.sync(() => ends.delete(end)),
              close
            )
          }
        }
      })
    })
})

const metadataOf = (object: Json.JsonObject) => Json.texts(object.metadata)

const program = Effect.gen(function* () {
  const server = yield* ApiServer.make({ history: 300_000 })
  const names = Array.from({ length: namespaces }, (_, index) => `team-${String(index).padStart(2, "0")}`)
  yield* create(server, [
    Crd.of(WebApp),
    ...names.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }))
  ])
  const ends = new Set<() => void>()
  const { url } = yield* Http.serve(faulty(server, ends))
  const kindOf = (apiVersion: string, kind: string) => {
    const found = server.registry.named(apiVersion, kind)
    if (found === undefined) throw new Error(`the server lacks ${kind}`)
    return found
  }
  const webapps = kindOf("apps.kubedojo.io/v1beta1", "WebApp")
  const deployments = kindOf("apps/v1", "Deployment")
  const services = kindOf("v1", "Service")
  const all = (kind: typeof webapps) => server.store.list(kind.storage)

  const patch = (path: string, body: object): Effect.Effect<ApiServer.HttpResponse> =>
    server.handle({
      method: "PATCH",
      path,
      headers: { "content-type": "application/merge-patch+json", "user-agent": "pump" },
      body: JSON.stringify(body)
    })

  const waiting = new Map<string, Json.JsonObject>()
  server.store.subscribe(({ object }) => {
    const { generation } = Json.object(object.metadata)
    if (Json.object(object.status).observedGeneration === generation) return
    const { name, namespace } = metadataOf(object)
    waiting.set(`${namespace}/deployments/${name}`, object)
  }, deployments.storage)
  const pump = Effect.gen(function* () {
    const batch = [...waiting]
    waiting.clear()
    for (const [place, object] of batch) {
      const { replicas = 1 } = Json.object(object.spec)
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas }
      const status = { ...counts, observedGeneration: Json.object(object.metadata).generation }
      yield* patch(`/apis/apps/v1/namespaces/${place}/status`, { status })
      yield* Effect.sleep(0)
    }
    yield* Effect.sleep(20)
  })
  yield* Effect.forkScoped(Effect.forever(pump))

  const createAll = (count: number, one: (index: number) => object) =>
    Effect.gen(function* () {
      for (let from = 0; from < count; from += 100) {
        const size = Math.min(100, count - from)
        yield* create(
          server,
          Array.from({ length: size }, (_, at) => one(from + at))
        )
        yield* Effect.sleep(0)
      }
      return {}
    })
  const placeOf = (index: number) => ({
    name: `app-${String(index).padStart(5, "0")}`,
    namespace: `team-${String(index % namespaces).padStart(2, "0")}`
  })
  const webappOf = (index: number, replicas: number) => ({
    apiVersion: "apps.kubedojo.io/v1beta1",
    kind: "WebApp",
    metadata: placeOf(index),
    spec: { image: "registry.example.com/team/app:1", replicas, port: 8080 }
  })
  /** Stores converged WebApps with their children, as copies of one that the server has completed. */
  const converge = (count: number, replicas: number) =>
    Effect.gen(function* () {
      const now = Math.floor(Date.now() / 1000) * 1000
      const first = placeOf(0)
      const stored = (kind: typeof webapps) => server.store.get(kind.storage, first.namespace, first.name) ?? {}
      yield* create(server, [webappOf(0, replicas)])
      const wire = stored(webapps) as never
      const made = Converged.childrenOf(Converged.decoded(wire), now)
      yield* create(server, [made.deployment, made.service])
      while (Json.object(stored(deployments).status).observedGeneration === undefined) yield* Effect.sleep(50)
      const status = Converged.statusOf(
        Converged.decoded(wire),
        stored(deployments) as never,
        stored(services) as never,
        now
      )
      const original = [{ ...stored(webapps), status } as Json.JsonObject, stored(deployments), stored(services)].map(
        (object) => [JSON.stringify(object), metadataOf(object).uid ?? ""] as const
      )
      for (let index = 0; index < count; index++) {
        const { name, namespace } = placeOf(index)
        const suffix = String(index).padStart(8, "0")
        const copy = (at: number): Json.JsonObject => {
          let text = (original[at]?.[0] ?? "").replaceAll(first.name, name).replaceAll(first.namespace, namespace)
          for (const [, uid] of original) text = text.replaceAll(uid, uid.slice(0, -8) + suffix)
          return JSON.parse(text)
        }
        const app = server.store.put(webapps.storage, copy(0))
        const { deployment, service } = Converged.childrenOf(Converged.decoded(app as never), now)
        for (const [kind, at, { metadata }] of [
          [deployments, 1, deployment],
          [services, 2, service]
        ] as const) {
          const object = copy(at)
          const { annotations } = Json.object(object.metadata)
          const merged = { ...Json.object(annotations), ...metadata.annotations }
          const labels = { ...Json.object(Json.object(object.metadata).labels), ...metadata.labels }
          server.store.put(kind.storage, {
            ...object,
            metadata: { ...Json.object(object.metadata), labels, annotations: merged }
          })
        }
        if (index % 500 === 0) yield* Effect.sleep(0)
      }
      return {}
    })
  const patchAll = (count: number, body: object) =>
    Effect.gen(function* () {
      for (const app of all(webapps).slice(0, count)) {
        const { name, namespace } = metadataOf(app)
        yield* patch(`/apis/apps.kubedojo.io/v1beta1/namespaces/${namespace}/webapps/${name}`, body)
        yield* Effect.sleep(0)
      }
      return {}
    })
  /** The WebApps whose children or status are not as their spec asks. */
  const wrong = (): ReadonlyArray<string> =>
    all(webapps).flatMap((app) => {
      const { name = "", namespace = "", uid } = metadataOf(app)
      const { image, port, replicas } = Json.object(app.spec)
      const { observedGeneration, phase } = Json.object(app.status)
      const deployment = server.store.get(deployments.storage, namespace, name)
      const service = server.store.get(services.storage, namespace, name)
      const template = Json.object(Json.object(Json.object(deployment?.spec).template).spec)
      const [container] = Json.objects(template.containers)
      const [servicePort] = Json.objects(Json.object(service?.spec).ports)
      const owners = [deployment, service].map((child) => Json.objects(Json.object(child?.metadata).ownerReferences)[0])
      const isRight =
        phase === "Running" &&
        observedGeneration === Json.object(app.metadata).generation &&
        container?.image === image &&
        Json.object(deployment?.spec).replicas === replicas &&
        servicePort?.port === port &&
        owners.every((owner) => owner?.uid === uid)
      return isRight ? [] : [`${namespace}/${name}`]
    })

  const control = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    const number = (name: string) => Number(searchParams.get(name))
    const run = (effect: Effect.Effect<object>) => Effect.runPromise(effect).then((value) => Response.json(value))
    switch (pathname) {
      case "/create":
        return run(createAll(number("count"), (index) => webappOf(index, number("replicas"))))
      case "/converge":
        return run(converge(number("count"), number("replicas")))
      case "/unrelated": {
        const value = "x".repeat(number("bytes"))
        return run(
          createAll(number("count"), (index) => ({
            apiVersion: "v1",
            kind: index % 2 === 0 ? "ConfigMap" : "Secret",
            metadata: { name: `other-${index}`, namespace: placeOf(index).namespace },
            data: { value }
          }))
        )
      }
      case "/churn":
        return run(
          Effect.gen(function* () {
            const value = "x".repeat(number("bytes"))
            const began = performance.now()
            let sent = 0
            while (performance.now() - began < number("seconds") * 1000) {
              while (sent < ((performance.now() - began) / 1000) * number("rate")) {
                const index = (sent * 2) % 20_000
                yield* patch(`/api/v1/namespaces/${placeOf(index).namespace}/configmaps/other-${index}`, {
                  data: { value: `${sent}${value}` }
                })
                sent++
              }
              yield* Effect.sleep(1)
            }
            return { sent }
          })
        )
      case "/touch":
        return run(patchAll(number("count"), { metadata: { annotations: { touched: searchParams.get("at") } } }))
      case "/image":
        return run(
          patchAll(number("count"), { spec: { image: `registry.example.com/team/app:${searchParams.get("tag")}` } })
        )
      case "/fail":
        faults.rate = number("rate")
        return Response.json({ refused: faults.refused })
      case "/relist":
        faults.expired.clear()
        faults.isExpiring = true
        for (const end of [...ends]) end()
        return Response.json({})
      case "/state":
        return Response.json({
          webapps: all(webapps).length,
          deployments: all(deployments).length,
          services: all(services).length,
          wrong: wrong(),
          waiting: waiting.size,
          expired: [...faults.expired],
          revision: server.store.revision
        })
      default:
        return new Response("", { status: 404 })
    }
  }
  const controls = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: control })
  process.stdout.write(`${JSON.stringify({ server: url, control: controls.url.origin })}\n`)
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
