/**
 * `bun test/bench/first-pass/Server.ts WEBAPPS`: an API server in memory with converged WebApps and their children, for one manager.
 *
 * It serves lists and watches of these kinds, supports leader election with a Lease, and stores the writes of one WebApp. It prints its
 * URL.
 * `POST /change` changes the image of one WebApp. It responds when the manager has applied the Deployment, with the milliseconds.
 */
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { controller } from "@homeostat/webapp"
import * as Converged from "../scale/Converged.ts"

const count = Number(process.argv[2])
const time = "2026-11-20T09:00:00Z"
let version = 100_000

const merged = <A>(target: A, patch: unknown): A => {
  if (typeof target !== "object" || target === null || Array.isArray(target)) return patch as A
  const result: Record<string, unknown> = Object.fromEntries(Object.entries(target))
  for (const [name, value] of Object.entries(patch as object)) {
    const has = Object.hasOwn(result, name) && typeof value === "object" && value !== null
    result[name] = has ? merged(result[name], value) : value
  }
  return result as A
}

/** The fields that an API server adds to the object with this number. */
const stored = (number: number, letter: string, fields: object) => ({
  metadata: {
    creationTimestamp: time,
    generation: 1,
    uid: `${letter.repeat(8)}-aaaa-4bbb-8ccc-${String(number).padStart(12, "0")}`,
    resourceVersion: String(++version),
    managedFields: [
      {
        manager: "webapp-controller",
        operation: "Apply",
        apiVersion: "v1",
        time,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { "f:labels": {}, "f:ownerReferences": {} }, "f:spec": fields }
      }
    ]
  }
})

const now = Date.parse(time)

const make = (number: number) => {
  const wire = merged(
    {
      apiVersion: "apps.kubedojo.io/v1beta1",
      kind: "WebApp",
      metadata: { name: `app-${String(number).padStart(6, "0")}`, namespace: "bench" },
      spec: { image: "registry.example.com/team/app:1.27.3", replicas: 1, port: 8080 }
    },
    stored(number, "a", { "f:image": {}, "f:port": {}, "f:replicas": {} })
  )
  const app = Converged.decoded(wire as never)
  const children = Converged.childrenOf(app, now)
  const deployment = merged(children.deployment, {
    ...stored(number, "d", { "f:replicas": {}, "f:selector": {}, "f:template": { "f:metadata": {}, "f:spec": {} } }),
    status: {
      availableReplicas: 1,
      conditions: [{ type: "Available", status: "True", reason: "MinimumReplicasAvailable", message: "available" }],
      observedGeneration: 1,
      readyReplicas: 1,
      replicas: 1,
      updatedReplicas: 1
    }
  }) as unknown as Deployment
  const service = merged(children.service, {
    ...stored(number, "5", { "f:ports": {}, "f:selector": {}, "f:type": {} }),
    spec: { clusterIP: `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`, sessionAffinity: "None" }
  }) as unknown as Service
  return { app: { ...wire, status: Converged.statusOf(app, deployment, service, now) }, deployment, service }
}

const objects = Array.from({ length: count }, (_, number) => make(number))
const kinds: { readonly [plural: string]: ReadonlyArray<object> } = {
  // The kinds that the controller follows.
  ...Object.fromEntries(controller.triggers.map(({ resource }) => [resource.plural, []] as const)),
  webapps: objects.map(({ app }) => app),
  deployments: objects.map(({ deployment }) => deployment),
  services: objects.map(({ service }) => service)
}
const changed = objects[Math.floor(count / 2)]
if (changed === undefined) throw new Error(`invalid number of WebApps: ${process.argv[2]} (must be 1 or more)`)

const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`
const encoded = new Map(
  Object.entries(kinds).map(([plural, all]) => [plural, all.map((object) => JSON.stringify(object))] as const)
)

/** One page of a list. Its continue token is the index of the next object. */
const page = (plural: string, url: URL): Response => {
  const all = encoded.get(plural) ?? []
  const from = Number(url.searchParams.get("continue") ?? 0)
  const to = from + Number(url.searchParams.get("limit") ?? all.length)
  const metadata = { resourceVersion: String(version), ...(to < all.length && { continue: String(to) }) }
  return new Response(
    `{"kind":"List","metadata":${JSON.stringify(metadata)},"items":[${all.slice(from, to).join()}]}`,
    {
      headers: { "content-type": "application/json" }
    }
  )
}

const watches = new Map<string, ReadableStreamDefaultController<Uint8Array>>()

const refusal = (code: number, reason: string) =>
  Response.json({ kind: "Status", code, reason, message: reason }, { status: code })

const watch = (plural: string): Response =>
  new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        watches.set(plural, controller)
        // Bun sends the headers with the first chunk.
        controller.enqueue(Buffer.from("\n"))
      }
    }),
    { headers: { "content-type": "application/json" } }
  )

let lease: { metadata: object } | undefined
let terms = 0
let answered: (() => void) | undefined

const leases = async (request: Request, isWatch: boolean): Promise<Response> => {
  if (isWatch) return watch("leases")
  if (request.method === "GET") return lease === undefined ? refusal(404, "NotFound") : Response.json(lease)
  const sent = (await request.json()) as { metadata: object; spec: { leaseTransitions?: number } }
  terms = sent.spec.leaseTransitions ?? terms
  lease = {
    ...sent,
    metadata: { ...sent.metadata, ...stored(1, "e", {}).metadata, resourceVersion: String(++version) }
  }
  return Response.json(lease, { status: request.method === "POST" ? 201 : 200 })
}

const change = async (): Promise<Response> => {
  const began = performance.now()
  const app = merged(changed.app, {
    metadata: { generation: 2, resourceVersion: String(++version) },
    spec: { image: "registry.example.com/team/app:1.27.4" }
  })
  const applied = new Promise<void>((resolve) => {
    answered = resolve
  })
  watches.get("webapps")?.enqueue(Buffer.from(line("MODIFIED", app)))
  await applied
  return Response.json({ millis: performance.now() - began, terms })
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    const url = new URL(request.url)
    const segments = url.pathname.split("/")
    const plural = segments.find((segment) => Object.hasOwn(kinds, segment)) ?? segments.at(-1) ?? ""
    const isWatch = url.searchParams.get("watch") === "true"
    if (url.pathname === "/change") return change()
    if (url.pathname === "/version") return Response.json({ major: "1", minor: "37", gitVersion: "v1.37.1" })
    if (segments.includes("leases")) return leases(request, isWatch)
    if (plural.endsWith("reviews")) {
      return Response.json({ ...((await request.json()) as object), status: { allowed: true } }, { status: 201 })
    }
    if (segments.includes("events")) {
      return Response.json({ ...((await request.json()) as object) }, { status: 201 })
    }
    if (kinds[plural] === undefined) return new Response("404 page not found\n", { status: 404 })
    if (request.method === "GET") return isWatch ? watch(plural) : page(plural, url)
    if (request.method === "PATCH" && url.pathname.includes(changed.app.metadata.name)) {
      if (plural === "deployments") answered?.()
      const object =
        plural === "deployments" ? changed.deployment : plural === "webapps" ? changed.app : changed.service
      return Response.json(
        merged(merged(object, await request.json()), {
          metadata: { ...object.metadata, resourceVersion: String(++version) }
        })
      )
    }
    process.stderr.write(
      `unexpected write: ${request.method} ${url.pathname} ${(await request.text()).slice(0, 300)}\n`
    )
    return refusal(403, "Forbidden")
  }
})
process.stdout.write(`${server.url}\n`)
