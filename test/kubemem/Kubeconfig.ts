/**
 * The contexts of a cluster in a kubeconfig file that other clusters may share, as kind writes them. A lock file protects the file from
 * other writers, as in client-go.
 */
import { mkdir, open, readFile, realpath, rename, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Yaml from "js-yaml"

/** The file cannot be read or written, or lacks the context. The message is one line with the path. */
export class KubeconfigError extends Data.TaggedError("KubeconfigError")<{ readonly message: string }> {}

/** A user's access to a cluster. */
export interface Access {
  /** The name of the context, of the cluster and of the user. */
  readonly context: string
  readonly server: string
  /** The CA certificate of the API server (PEM). */
  readonly ca: string
  readonly token: string
}

/** The path of the file that kubectl would use: `--kubeconfig`, else the first path in `KUBECONFIG`, else `~/.kube/config`. */
export const pathOf = (flag: string | undefined): string =>
  flag ?? process.env.KUBECONFIG?.split(":").find((path) => path !== "") ?? join(homedir(), ".kube", "config")

/** Adds contexts, or replaces contexts with the same names. The first one becomes the current context. */
export const add = (path: string, accesses: ReadonlyArray<Access>): Effect.Effect<void, KubeconfigError> =>
  change(path, (config) => {
    const names = accesses.map(({ context }) => context)
    const others = (list: string) => named(config, list).filter(({ name }) => !names.includes(String(name)))
    return {
      ...config,
      clusters: [
        ...others("clusters"),
        ...accesses.map(({ ca, context, server }) => ({
          name: context,
          cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") }
        }))
      ],
      users: [...others("users"), ...accesses.map(({ context, token }) => ({ name: context, user: { token } }))],
      contexts: [...others("contexts"), ...names.map((name) => ({ name, context: { cluster: name, user: name } }))],
      "current-context": names[0] ?? config["current-context"] ?? ""
    }
  })

/** Removes contexts that still have this server's URL. Another cluster with the same name may have replaced them. */
export const remove = (
  path: string,
  names: ReadonlyArray<string>,
  server: string
): Effect.Effect<void, KubeconfigError> =>
  change(path, (config) => {
    const owned = named(config, "clusters").flatMap(({ cluster, name }) =>
      Json.at(cluster, "server") === server && names.includes(String(name)) ? [name] : []
    )
    const rest = (list: string) => named(config, list).filter(({ name = "" }) => !owned.includes(name))
    const current = config["current-context"] ?? ""
    return {
      ...config,
      clusters: rest("clusters"),
      users: rest("users"),
      contexts: rest("contexts"),
      "current-context": owned.includes(current) ? "" : current
    }
  })

/** Reads a context. Default: the current context. */
export const read = (path: string, name: string | undefined): Effect.Effect<Access, KubeconfigError> =>
  Effect.gen(function* () {
    const config = yield* parse(path, yield* textOf(path))
    const context = name ?? Json.text(config["current-context"]) ?? ""
    const ofName = (list: string, wanted: Json.Json | undefined) =>
      named(config, list).find(({ name }) => name === wanted)
    const found = ofName("contexts", context)?.context
    const cluster = ofName("clusters", Json.at(found, "cluster"))?.cluster
    const user = ofName("users", Json.at(found, "user"))?.user
    const [server, ca, token] = [
      Json.text(Json.at(cluster, "server")),
      Json.text(Json.at(cluster, "certificate-authority-data")),
      Json.text(Json.at(user, "token"))
    ]
    if (server === undefined || ca === undefined || token === undefined) {
      const names = named(config, "contexts").map(({ name }) => String(name))
      return yield* new KubeconfigError({
        message: `context not found: "${context}" (${path} has ${names.length === 0 ? "none" : names.join(", ")}; start a cluster with kubemem start)`
      })
    }
    return { context, server, ca: Buffer.from(ca, "base64").toString(), token }
  })

const named = (config: Json.JsonObject, list: string): ReadonlyArray<Json.JsonObject> => Json.objects(config[list])

const failed = (doing: string, path: string) => (error: unknown) =>
  new KubeconfigError({
    message: `cannot ${doing} kubeconfig: ${path} (${error instanceof Error ? error.message : error})`
  })

const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT"

const textOf = (path: string): Effect.Effect<string, KubeconfigError> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8").catch((error) => (isMissing(error) ? "" : Promise.reject(error))),
    catch: failed("read", path)
  })

const parse = (path: string, text: string): Effect.Effect<Json.JsonObject, KubeconfigError> =>
  Effect.try({
    try: () => {
      const config = text.trim() === "" ? undefined : (Yaml.load(text) as Json.Json | undefined)
      if (config === undefined || config === null) return { apiVersion: "v1", kind: "Config", preferences: {} }
      if (!Json.isObject(config)) throw new Error("not a kubeconfig")
      return config
    },
    catch: failed("read", path)
  })

const change = (
  path: string,
  edit: (config: Json.JsonObject) => Json.JsonObject
): Effect.Effect<void, KubeconfigError> =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* Effect.tryPromise({
        try: () => mkdir(dirname(path), { recursive: true, mode: 0o700 }),
        catch: failed("write", path)
      })
      yield* locked(path)
      const next = edit(yield* parse(path, yield* textOf(path)))
      yield* Effect.tryPromise({
        try: async () => {
          // A symbolic link stays, because this replaces the file that it leads to.
          const target = await realpath(path).catch(() => path)
          const fresh = `${target}.kubemem-${process.pid}`
          const text = Yaml.dump(next, { lineWidth: -1, noRefs: true, seqNoIndent: true })
          // A file or link of another user, who may also write to the folder, must not get the token.
          await rm(fresh, { force: true })
          await writeFile(fresh, text, { flag: "wx", mode: 0o600 })
          await rename(fresh, target)
        },
        catch: failed("write", path)
      })
    })
  )

const locked = (path: string) => {
  const lock = `${path}.lock`
  const acquire = Effect.tryPromise({
    try: async () => (await open(lock, "wx")).close(),
    catch: failed("write", `${lock} exists; delete it if no other program is writing ${path}`)
  })
  const patient = Effect.retry(acquire, { schedule: Schedule.spaced("50 millis"), times: 40 })
  return Effect.acquireRelease(patient, () => Effect.promise(() => rm(lock, { force: true })))
}
