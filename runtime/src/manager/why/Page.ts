/**
 * `/why?kind=webapp&namespace=shop&name=cart` at the probe port: what the controllers of this process know about an object, and why
 * they reconciled it or not. `&controller=` selects one of several controllers of the kind.
 *
 * `kind` is the name, the plural or a short name of the kind, in any case, with or without the group (`webapps.apps.kubedojo.io`).
 * For an owned kind the answer is about the owner. For another kind, such as a pod, it is about the owner that a controller here reconciles.
 * The default namespace is `default`.
 *
 * The answer is text, or JSON (`{"answers": […]}`) with `output=json` or a JSON `Accept` header. Invalid parameters get 400 with one
 * line. The header `homeostat-health` says whether the object is `healthy`, `unhealthy` or `unknown`. Callers without permission get 401, 403 or 503 with one line, see `Callers`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Client from "../../client/Client.ts"
import type { Controller } from "../../controller/Controller.ts"
import * as Trigger from "../../controller/Trigger.ts"
import * as CustomResource from "../../resource/CustomResource.ts"
import { controllerOf, keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import * as Resource from "../../resource/Resource.ts"
import { printable } from "../../resource/Text.ts"
import * as Callers from "../Callers.ts"
import * as Endpoints from "../Endpoints.ts"
import type { LeaderElection } from "../LeaderElection.ts"
import type { Admissions } from "./Admissions.ts"
import * as Gather from "./Gather.ts"
import * as Health from "./Health.ts"
import * as Kin from "./Kin.ts"
import * as Text from "./Text.ts"
import { type Explanation, explain, type Reviewed, reviewed } from "./Why.ts"
import { listed } from "./Words.ts"

/** An object that no controller here reconciles, with the answers of the admission webhooks about it. */
interface Admitted {
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
  readonly at: string
  /** Newest first. */
  readonly webhooks: ReadonlyArray<Reviewed>
}

/** One explanation per controller that reconciles the object, or a message if there is none. */
export interface Page {
  /** A message to show before the answers. */
  readonly message?: string | undefined
  readonly answers: ReadonlyArray<Explanation>
  readonly admitted?: Admitted | undefined
}

/** The parameters are invalid; the message is one line with the valid ones. */
interface Refused {
  readonly refused: string
}

const isRefused = (answer: Page | Refused): answer is Refused => "refused" in answer

/** All names of a kind, in lower case. */
const namesOf = (resource: Resource.Any): ReadonlyArray<string> => {
  const { group, kind, plural } = resource
  const names = [kind, plural]
  if (CustomResource.isCustomResource(resource)) {
    names.push(resource.definition.singular, ...resource.definition.shortNames)
  }
  return [...names, ...(group === "" ? [] : names.map((name) => `${name}.${group}`))].map((name) => name.toLowerCase())
}

/** The discovery path of a group and version. */
const discoveryOf = (resource: Resource.Any): string =>
  `${resource.group === "" ? "/api" : "/apis"}/${Resource.apiVersionOf(resource)}`

/** The timeout of discovery: gathering follows, and the port cuts off answers after ten seconds. */
const patience = "2 seconds"

/** The short names of the kinds of a group and version, by plural; empty if the API server does not answer. */
const shortNamesAt = (path: string): Effect.Effect<ReadonlyMap<string, ReadonlyArray<string>>, never, Client.Client> =>
  Client.raw({ method: "GET", path }).pipe(
    Effect.timeout(patience),
    Effect.flatMap(({ body }) => Effect.try((): unknown => JSON.parse(body))),
    Effect.map((list) => {
      const resources: unknown = typeof list === "object" && list !== null ? Reflect.get(list, "resources") : undefined
      const names = new Map<string, ReadonlyArray<string>>()
      for (const each of Array.isArray(resources) ? resources : []) {
        if (typeof each !== "object" || each === null) continue
        const plural: unknown = Reflect.get(each, "name")
        const short: unknown = Reflect.get(each, "shortNames")
        if (typeof plural !== "string" || !Array.isArray(short)) continue
        names.set(
          plural,
          short.filter((name) => typeof name === "string")
        )
      }
      return names
    }),
    Effect.orElseSucceed(() => new Map())
  )

/** Whether a built-in kind has a short name. */
type HasShortName = (resource: Resource.Any, name: string) => boolean

/** Reads the short names of built-in kinds, in one request per group and version, all at the same time. */
const discover = (resources: ReadonlyArray<Resource.Any>): Effect.Effect<HasShortName, never, Client.Client> =>
  Effect.gen(function* () {
    const builtIn = resources.filter((resource) => !CustomResource.isCustomResource(resource))
    const paths = [...new Set(builtIn.map(discoveryOf))]
    const shortNames = new Map(
      yield* Effect.forEach(paths, (path) => Effect.map(shortNamesAt(path), (names) => [path, names] as const), {
        concurrency: "unbounded"
      })
    )
    return (resource, name) => shortNames.get(discoveryOf(resource))?.get(resource.plural)?.includes(name) === true
  })

/** The resources with this name, or else those with this short name on the API server. */
const calledSo = <R>(
  resources: ReadonlyArray<Resource.Any>,
  name: string,
  discovered: Effect.Effect<HasShortName, never, R>
): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.gen(function* () {
    const wanted = name.toLowerCase()
    const distinct = [...new Map(resources.map((each) => [Resource.identityOf(each), each])).values()]
    const found = distinct.filter((resource) => namesOf(resource).includes(wanted))
    if (found.length > 0) return found.map(Resource.nameOf)
    if (distinct.every(CustomResource.isCustomResource)) return []
    const hasShortName = yield* discovered
    return distinct
      .filter((resource) => !CustomResource.isCustomResource(resource) && hasShortName(resource, wanted))
      .map(Resource.nameOf)
  })

const keyIn = (resource: Resource.Any, namespace: string | null, name: string): ObjectKey =>
  resource.namespaced ? { namespace: namespace === null || namespace === "" ? "default" : namespace, name } : { name }

/** The reconciled kinds, by their names in requests. */
const offered = (subjects: ReadonlyArray<Gather.Subject>): string =>
  listed([
    ...new Set(subjects.map(({ controller: { resource } }) => `${resource.kind} (${Resource.nameOf(resource)})`))
  ])

const explained = (subjects: ReadonlyArray<Gather.Subject>, key: ObjectKey) =>
  Effect.forEach(subjects, (subject) => Effect.map(Gather.gather(subject, key), explain), {
    concurrency: "unbounded"
  })

/** Adds the answers of the webhooks about an object that no controller here reconciles, if there are any. */
const withAdmitted = (
  page: Page,
  admissions: Admissions | undefined,
  resource: Resource.Any,
  key: ObjectKey
): Effect.Effect<Page> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const webhooks = reviewed(admissions?.of(resource, key) ?? [])
    const { name, namespace } = key
    return webhooks.length === 0
      ? page
      : { ...page, admitted: { kind: resource.kind, namespace, name, at: new Date(now).toISOString(), webhooks } }
  })

/** An object whose kind no controller here reconciles or owns. */
const ofAdmitted = (
  admissions: Admissions,
  resource: Resource.Any,
  namespace: string | null,
  name: string
): Effect.Effect<Page> => {
  const key = keyIn(resource, namespace, name)
  const message = `No controller here reconciles ${resource.kind} ${keyString(key)}.`
  const quiet = `${message} This process knows no answer of its webhooks that denied or changed the object, or warned about it.`
  return Effect.map(withAdmitted({ message, answers: [] }, admissions, resource, key), (page) =>
    page.admitted === undefined ? { ...page, message: quiet } : page
  )
}

/** The owner of a child, from the cache of its kind. */
const ofChild = (
  makers: ReadonlyArray<{ readonly subject: Gather.Subject; readonly at: number }>,
  admissions: Admissions | undefined,
  namespace: string | null,
  name: string
): Effect.Effect<Page, never, Gather.Needs> =>
  Effect.gen(function* () {
    let missing = ""
    for (const { at, subject } of makers) {
      const { controller, runner } = subject
      const informer = runner.informers[at + 1]
      if (informer === undefined) continue
      const key = keyIn(informer.resource, namespace, name)
      const child = informer.store.get(keyString(key))
      const owner = child === undefined ? undefined : controllerOf(child)
      const ownerKey = child === undefined ? undefined : Trigger.ownerOf(controller.resource, child)
      const what = `${informer.resource.kind} ${keyString(key)}`
      if (ownerKey !== undefined) {
        const answers = yield* explained([subject], ownerKey)
        const message = `${what} is a child of ${controller.resource.kind} ${ownerKey.name} (controller ${controller.name}):`
        return yield* withAdmitted({ message, answers }, admissions, informer.resource, key)
      }
      missing =
        child === undefined
          ? `${what} not found. Controller ${controller.name} creates such children for each ${controller.resource.kind}.`
          : `${what} is not a child of an object that controller ${controller.name} reconciles: ${owner === undefined ? "it has no controller" : `its controller is ${owner.kind} ${owner.name} (${owner.apiVersion})`}.`
    }
    const [maker] = makers
    const resource = maker?.subject.runner.informers[maker.at + 1]?.resource
    const page = { message: missing, answers: [] }
    return resource === undefined
      ? page
      : yield* withAdmitted(page, admissions, resource, keyIn(resource, namespace, name))
  })

/** An object of another kind, such as a pod: by the owner that a controller here reconciles. */
const ofKin = (
  subjects: ReadonlyArray<Gather.Subject>,
  resource: Resource.Any,
  key: ObjectKey
): Effect.Effect<Page, never, Gather.Needs> =>
  Effect.gen(function* () {
    const what = `${resource.kind} ${keyString(key)}`
    const kin = yield* Kin.of(subjects, resource, key)
    if ("reason" in kin) {
      return { message: `${what} leads to no object that a controller here reconciles: ${kin.reason}.`, answers: [] }
    }
    const [owner] = kin.subjects
    const through = kin.through.length === 0 ? "" : `, through ${listed(kin.through)}`
    return {
      message: `${what} belongs to ${owner?.controller.resource.kind} ${kin.key.name}${through}:`,
      answers: yield* explained(kin.subjects, kin.key)
    }
  })

const ask = (
  subjects: ReadonlyArray<Gather.Subject>,
  admissions: Admissions | undefined,
  query: URLSearchParams
): Effect.Effect<Page | Refused, never, Gather.Needs> =>
  Effect.gen(function* () {
    const kind = query.get("kind") ?? ""
    const name = query.get("name") ?? ""
    const wanted = query.get("controller") ?? ""
    if (kind === "" || name === "") {
      return { refused: "an object is required: /why?kind=webapp&namespace=default&name=shop" }
    }
    // These parameters become parts of a path, so they must be valid names.
    for (const [what, text] of [
      ["name", name],
      ["namespace", query.get("namespace") ?? ""]
    ] as const) {
      if (/[^-.:_a-zA-Z0-9]/.test(text) || text.length > 253 || /^\.+$/.test(text)) {
        return { refused: `invalid ${what}: ${JSON.stringify(text)}` }
      }
    }
    const some = subjects.filter(({ controller }) => wanted === "" || controller.name === wanted)
    if (some.length === 0 && wanted !== "") {
      const names = listed(subjects.map(({ controller }) => controller.name))
      return { refused: `unknown controller: ${JSON.stringify(wanted)} (must be one of ${names})` }
    }
    const owned = some.flatMap((subject) =>
      subject.controller.triggers.flatMap(({ relation, resource }, at) =>
        relation === "owned" ? [{ subject, at, resource }] : []
      )
    )
    const own = some.map(({ controller }) => controller.resource)
    const made = owned.map(({ resource }) => resource)
    // The own name of a kind precedes short names of other kinds.
    const admitted = admissions?.resources ?? []
    const all = [...own, ...made, ...admitted]
    const isOwnName = all.some((resource) => namesOf(resource).includes(kind.toLowerCase()))
    const discovered = isOwnName ? Effect.succeed<HasShortName>(() => false) : yield* Effect.cached(discover(all))
    const reconciled = yield* calledSo(own, kind, discovered)
    const [first, second] = reconciled
    if (second !== undefined) return { refused: `${kind} may be ${listed(reconciled)}: say which, with its group` }
    if (first !== undefined) {
      const those = some.filter(({ controller: { resource } }) => Resource.nameOf(resource) === first)
      const [{ controller } = { controller: undefined }] = those
      return controller === undefined
        ? { answers: [] }
        : { answers: yield* explained(those, keyIn(controller.resource, query.get("namespace"), name)) }
    }
    const children = yield* calledSo(made, kind, discovered)
    const makers = owned.filter(({ resource }) => children.includes(Resource.nameOf(resource)))
    if (makers.length > 0) return yield* ofChild(makers, admissions, query.get("namespace"), name)
    const names = yield* calledSo(admitted, kind, discovered)
    const resource = admitted.find((each) => Resource.nameOf(each) === names[0])
    if (admissions !== undefined && resource !== undefined) {
      return yield* ofAdmitted(admissions, resource, query.get("namespace"), name)
    }
    const kin = Kin.kinds(some)
    const called = yield* calledSo(kin, kind, discovered)
    const other = kin.find((each) => Resource.nameOf(each) === called[0])
    if (other !== undefined) return yield* ofKin(some, other, keyIn(other, query.get("namespace"), name))
    return { refused: `no controller here reconciles a kind ${JSON.stringify(kind)}, but ${offered(subjects)}` }
  })

/** Whether the caller wants JSON: by the query, or by an `Accept` header that does not name text first. */
const wantsJson = (request: Request, query: URLSearchParams): boolean => {
  const output = query.get("output")
  return output === null || output === ""
    ? /^\s*application\/json/i.test(request.headers.get("accept") ?? "")
    : output === "json"
}

/** The page as text, without a final newline. */
export const textOf = ({ admitted, answers, message }: Page): string =>
  [
    ...(message === undefined ? [] : [message]),
    ...(admitted === undefined
      ? []
      : [
          [
            `The webhooks answered about ${admitted.kind} ${keyString(admitted)}:`,
            ...Text.webhookLines(admitted.webhooks, { answer: "" }, Date.parse(admitted.at))
          ].join("\n")
        ]),
    ...answers.map((each) =>
      answers.length === 1 ? Text.render(each) : `Controller ${each.controller.name}: ${Text.render(each)}`
    )
  ].join("\n\n")

const headers = { "cache-control": "no-store" }

const respond = (answer: Page | Refused, json: boolean): Response => {
  if (isRefused(answer)) {
    return json
      ? Response.json({ error: answer.refused }, { status: 400, headers })
      : Endpoints.text(400, answer.refused, headers)
  }
  const all = { ...headers, [Health.header]: Health.worst(answer.answers.map(({ health }) => health)) }
  return json
    ? new Response(`${printable(JSON.stringify(answer, undefined, 2))}\n`, {
        headers: { "content-type": "application/json", ...all }
      })
    : Endpoints.text(200, textOf(answer), all)
}

/**
 * Serves `/why` for these controllers, until the scope closes. Does nothing without ports.
 *
 * @param admissions the answers of the program's webhooks; absent if this process serves none
 */
export const serve = (
  controllers: ReadonlyArray<Controller<unknown>>,
  runners: ReadonlyArray<Gather.Journaled>,
  election: LeaderElection | undefined,
  admissions?: Admissions | undefined
): Effect.Effect<void, never, Gather.Needs | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    if (endpoints === Endpoints.off) return
    const since = yield* Clock.currentTimeMillis
    const subjects = controllers.flatMap((controller, at): ReadonlyArray<Gather.Subject> => {
      const runner = runners[at]
      return runner === undefined
        ? []
        : [{ controller, runner, admissions, election: controller.leaderElected ? election : undefined, since }]
    })
    const context = yield* Effect.context<Gather.Needs>()
    const handler: Endpoints.Handler = (request) => {
      const query = new URL(request.url).searchParams
      const output = query.get("output") ?? ""
      const answer =
        output === "" || output === "json" || output === "text"
          ? ask(subjects, admissions, query)
          : Effect.succeed({ refused: `output=${output} is neither json nor text` })
      return answer.pipe(
        Effect.map((page) => respond(page, wantsJson(request, query))),
        Effect.provide(context)
      )
    }
    const callers = Option.getOrElse(yield* Effect.serviceOption(Callers.Callers), () => undefined)
    const { guarded } = callers ?? (yield* Callers.make())
    yield* endpoints.route("probes", "/why", guarded(handler, { loopback: true }))
  })
