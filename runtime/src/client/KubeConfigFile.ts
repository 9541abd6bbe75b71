/**
 * Reads and merges kubeconfig files, and selects one context. client-node checks the selected entries. The merge follows kubectl's rules:
 * the first file with a name wins, and so does the first file with a current context.
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

/** An entry of a list before client-node checks it. */
interface Entry {
  readonly name: string
  readonly file: string
  readonly item: unknown
}

interface Parsed {
  readonly currentContext: string | undefined
  readonly contexts: ReadonlyArray<Entry>
  readonly clusters: ReadonlyArray<Entry>
  readonly users: ReadonlyArray<Entry>
}

const wrong = (message: string) => new KubeConfigError({ message })

/** A value of YAML as a mapping; any other value is an empty mapping. */
export const mapping = (value: unknown): { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? ""

/** The entries with a name. kubectl refuses a file in which two entries of a list have the same one. */
const entriesOf = (
  file: string,
  config: { readonly [key: string]: unknown },
  list: "clusters" | "contexts" | "users"
): Effect.Effect<ReadonlyArray<Entry>, KubeConfigError> => {
  const items: unknown = config[list] ?? []
  if (!Array.isArray(items)) return wrong(`kubeconfig ${file}: ${list} must be a list`)
  const entries = new Map<string, Entry>()
  for (const item of items) {
    const { name } = mapping(item)
    if (typeof name !== "string" || name === "") continue
    if (entries.has(name)) return wrong(`kubeconfig ${file}: duplicate name in ${list}: ${JSON.stringify(name)}`)
    entries.set(name, { name, file, item })
  }
  return Effect.succeed([...entries.values()])
}

const parse = (file: string, text: string): Effect.Effect<Parsed, KubeConfigError> =>
  Effect.gen(function* () {
    // Loaded only if there is a file.
    const yaml = yield* Effect.promise(() => import("js-yaml"))
    const document = yield* Effect.try({
      // kubectl too takes the last value of a key that occurs twice.
      try: (): unknown => yaml.loadAll(text, { json: true })[0] ?? {},
      catch: (error) => wrong(`kubeconfig ${file} is not YAML: ${firstLine(error)}`)
    })
    const { apiVersion = "v1", kind = "Config", ...config } = mapping(document)
    if (typeof document !== "object" || Array.isArray(document) || kind !== "Config" || apiVersion !== "v1") {
      return yield* wrong(`${file} is not a kubeconfig (it must be a mapping of kind Config in v1)`)
    }
    const current = config["current-context"]
    return {
      currentContext: typeof current === "string" && current !== "" ? current : undefined,
      contexts: yield* entriesOf(file, config, "contexts"),
      clusters: yield* entriesOf(file, config, "clusters"),
      users: yield* entriesOf(file, config, "users")
    }
  })

const find = (list: ReadonlyArray<Entry>, name: string): Entry | undefined => list.find((entry) => entry.name === name)

/** The entry as client-node reads it. Others in the list may be invalid, as with kubectl. */
const read = <A>(
  { file, item, name }: Entry,
  key: "cluster" | "user" | "context",
  values: (list: ReadonlyArray<unknown>) => ReadonlyArray<A>
): Effect.Effect<Named<A>, KubeConfigError> =>
  Effect.flatMap(
    Effect.try({
      try: () => values([item])[0],
      catch: (error) =>
        wrong(`${key} ${JSON.stringify(name)} of kubeconfig ${file}: ${firstLine(error).replace(/^\w+\[0\]\./, "")}`)
    }),
    (value) =>
      value === undefined
        ? wrong(`${key} ${JSON.stringify(name)} of kubeconfig ${file} is empty`)
        : Effect.succeed({ value, file, raw: mapping(mapping(item)[key]) })
  )

const choose = (files: string, parsed: ReadonlyArray<Parsed>, wanted: string | undefined) =>
  Effect.gen(function* () {
    // Only these parts of client-node: all of it takes 350 ms from source, these take 15 ms.
    const types = yield* Effect.promise(() => import("@kubernetes/client-node/dist/config_types.js"))
    const contexts = parsed.flatMap((file) => file.contexts)
    if (contexts.length === 0) {
      return yield* wrong(`${files} has no contexts (choose another file, or add one with kubectl config set-context)`)
    }
    const there = `there are ${contexts.map(({ name }) => name).join(", ")}`
    const name = wanted ?? parsed.find((file) => file.currentContext !== undefined)?.currentContext
    if (name === undefined) return yield* wrong(`${files} has no current-context: name one with --context (${there})`)
    const entry = find(contexts, name)
    if (entry === undefined) {
      return yield* wrong(
        `${files} has no context ${JSON.stringify(name)} (${wanted === undefined ? "its current-context; " : ""}${there})`
      )
    }
    const { value: context } = yield* read<Context>(entry, "context", types.newContexts)
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
    const selected: Selected = {
      context: name,
      namespace: context.namespace || undefined,
      cluster: yield* read<Cluster>(cluster, "cluster", types.newClusters),
      user: user && (yield* read<User>(user, "user", types.newUsers))
    }
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
