/**
 * Reads and merges kubeconfig files, and selects one context. client-node checks the entries. The merge follows kubectl's rule: the
 * first file with a name wins.
 */
import * as path from "node:path"
import type { Cluster, Context, User } from "@kubernetes/client-node/dist/config_types.js"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as FileError from "../resource/FileError.ts"

/** The configuration is missing or invalid. The message is one line: the error, the place, and how to fix it. */
export class KubeConfigError extends Data.TaggedError("KubeConfigError")<{ readonly message: string }> {}

/** An entry and its file. Paths in the entry are relative to the file. */
export interface Named<A> {
  readonly value: A
  readonly file: string
  /** The entry as in the file, for fields that client-node does not read. */
  readonly raw: { readonly [key: string]: unknown }
}

/** The cluster and the user of a context. */
export interface Selected {
  readonly context: string
  readonly namespace: string | undefined
  readonly cluster: Named<Cluster>
  readonly user: Named<User> | undefined
}

interface Parsed {
  readonly currentContext: string | undefined
  readonly contexts: ReadonlyArray<Named<Context>>
  readonly clusters: ReadonlyArray<Named<Cluster>>
  readonly users: ReadonlyArray<Named<User>>
}

const wrong = (message: string) => new KubeConfigError({ message })

/** A value of YAML as a mapping; any other value is an empty mapping. */
export const mapping = (value: unknown): { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? ""

const entries = <A extends { readonly name: string }>(
  file: string,
  list: unknown,
  key: "cluster" | "user" | "context",
  values: ReadonlyArray<A>
): ReadonlyArray<Named<A>> =>
  values.map((value, i) => ({ value, file, raw: mapping(mapping(Array.isArray(list) ? list[i] : undefined)[key]) }))

const parse = (file: string, text: string): Effect.Effect<Parsed, KubeConfigError> =>
  Effect.gen(function* () {
    // Loaded only if there is a file, and only these parts: all of client-node takes 350 ms from source, these take 15 ms.
    const [yaml, types] = yield* Effect.promise(() =>
      Promise.all([import("js-yaml"), import("@kubernetes/client-node/dist/config_types.js")])
    )
    const config = mapping(
      yield* Effect.try({
        try: (): unknown => (text.trim() === "" ? {} : yaml.load(text)),
        catch: (error) => wrong(`kubeconfig ${file} is not YAML: ${firstLine(error)}`)
      })
    )
    const { clusters, contexts, users } = config
    if (clusters === undefined && contexts === undefined && users === undefined && text.trim() !== "") {
      return yield* wrong(`${file} is not a kubeconfig: it has no clusters, contexts or users`)
    }
    const current = config["current-context"]
    return yield* Effect.try({
      try: (): Parsed => ({
        currentContext: typeof current === "string" && current !== "" ? current : undefined,
        contexts: entries(file, contexts, "context", types.newContexts(contexts)),
        clusters: entries(file, clusters, "cluster", types.newClusters(clusters)),
        users: entries(file, users, "user", types.newUsers(users))
      }),
      catch: (error) => wrong(`kubeconfig ${file}: ${firstLine(error)}`)
    })
  })

const find = <A extends { readonly name: string }>(list: ReadonlyArray<Named<A>>, name: string): Named<A> | undefined =>
  list.find((entry) => entry.value.name === name)

const choose = (files: string, parsed: ReadonlyArray<Parsed>, wanted: string | undefined) =>
  Effect.gen(function* () {
    const contexts = parsed.flatMap((file) => file.contexts)
    if (contexts.length === 0) {
      return yield* wrong(`${files} has no contexts (choose another file, or add one with kubectl config set-context)`)
    }
    const there = `there are ${contexts.map(({ value }) => value.name).join(", ")}`
    const name = wanted ?? parsed.find((file) => file.currentContext !== undefined)?.currentContext
    if (name === undefined) return yield* wrong(`${files} has no current-context: name one with --context (${there})`)
    const context = find(contexts, name)?.value
    if (context === undefined) {
      return yield* wrong(
        `${files} has no context ${JSON.stringify(name)} (${wanted === undefined ? "its current-context; " : ""}${there})`
      )
    }
    const within = `context ${JSON.stringify(name)} of ${files}`
    const cluster = find(
      parsed.flatMap((file) => file.clusters),
      context.cluster
    )
    if (cluster === undefined)
      return yield* wrong(`${within} names cluster ${JSON.stringify(context.cluster)}, which is not there`)
    const user = context.user
      ? find(
          parsed.flatMap((file) => file.users),
          context.user
        )
      : undefined
    if (context.user && user === undefined)
      return yield* wrong(`${within} names user ${JSON.stringify(context.user)}, which is not there`)
    const selected: Selected = { context: name, namespace: context.namespace || undefined, cluster, user }
    return selected
  })

const readFile = (file: string, origin: string): Effect.Effect<string | undefined, KubeConfigError, FileSystem> =>
  Effect.flatMap(FileSystem, (fs) =>
    Effect.catch(fs.readFileString(file), (error) =>
      FileError.reasonOf(error) === "NotFound"
        ? Effect.sync(() => undefined)
        : wrong(`kubeconfig ${file} (from ${origin}) cannot be read: ${FileError.reasonOf(error)}`)
    )
  )

/**
 * Reads files and selects a context, by default the current one.
 *
 * @param origin the source of the file names, for messages. If there are several files, some may be missing
 */
export const select = (
  files: ReadonlyArray<string>,
  origin: string,
  context: string | undefined
): Effect.Effect<Selected, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const parsed: Array<Parsed> = []
    for (const file of files) {
      const text = yield* readFile(file, origin)
      if (text !== undefined) parsed.push(yield* parse(path.resolve(file), text))
    }
    if (parsed.length === 0) return yield* wrong(`kubeconfig ${files.join(", ")} (from ${origin}) does not exist`)
    return yield* choose(`kubeconfig ${files.join(", ")}`, parsed, context)
  })
