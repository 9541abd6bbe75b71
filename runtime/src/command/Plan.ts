/** `plan`: what the program would write in a cluster now, without writing it. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import type * as Manager from "../manager/Manager.ts"
import type { Load } from "../plan/Simulation.ts"
import * as Build from "./Build.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as JitPolicy from "./JitPolicy.ts"
import * as Kinds from "./Kinds.ts"
import * as ManifestFiles from "./ManifestFiles.ts"
import * as Output from "./Output.ts"
import type { Program as Runnable } from "./Run.ts"
import * as Verb from "./Verb.ts"

/** A program that can plan. */
export interface Program<R, E> extends Runnable<R, E> {
  readonly simulation: Load
}

const json = (value: object): string => JSON.stringify(value, undefined, 2)

/** The modules of a plan. No other command needs them. */
const modules = Effect.promise(async () => {
  const [Plan, Document, Text] = await Promise.all([
    import("../plan/Plan.ts"),
    import("../plan/Document.ts"),
    import("../plan/Text.ts")
  ])
  /** They render a plan, or its difference from an earlier plan. */
  const formats = {
    text: { plan: Text.text, difference: Text.differenceText },
    json: { plan: json, difference: json },
    markdown: { plan: Text.markdown, difference: Text.differenceMarkdown }
  }
  return { Plan, Document, formats }
})

type Format = keyof Effect.Success<typeof modules>["formats"]

const formats: { readonly [name in Format]: Format } = { text: "text", json: "json", markdown: "markdown" }

const flagsOf = (names: ReadonlyArray<string>) => ({
  ...Flags.cluster,
  ...Flags.scope(names),
  local: Flag.toggle("local", {
    description: "Compute the result of each write here, with permissions to read only (the default)"
  }),
  server: Flag.toggle("server", {
    description: "Ask the API server for a dry run of the first write of each object; needs the permissions to write"
  }),
  files: Flag.short(
    "f",
    Flag.list("filename", {
      placeholder: "FILE",
      description:
        "Plan as if the objects of this file or folder were applied first; repeated or separated by commas; - for standard input"
    })
  ),
  installCrds: Flag.toggle("install-crds", {
    description: "Plan as if the CRDs of this program were installed (default those of the cluster)"
  }),
  since: Flag.text("since", {
    placeholder: "PLAN",
    description: "Print only the difference from an earlier plan, a file that plan -o json wrote"
  }),
  timeout: Flag.duration("timeout", {
    description: "The longest time for the reconciles; the rest of the plan is then unknown",
    otherwise: "5m",
    atLeast: "1s"
  }),
  format: Flag.short(
    "o",
    Flag.choice("output", formats, {
      placeholder: "FORMAT",
      description: "text, json or markdown (default text)",
      otherwise: formats.text
    })
  )
})

/** The flags that change the writes of a plan, in one form and order. */
const flagsIn = (
  settings: Pick<
    Flag.Values<ReturnType<typeof flagsOf>>,
    "namespaces" | "controllers" | "selector" | "server" | "installCrds"
  >,
  manifests: ReadonlyArray<object>,
  namespace: string | undefined
): ReadonlyArray<string> => [
  ...settings.namespaces.toSorted().map((name) => `--namespace=${name}`),
  ...(settings.controllers.length === 0 ? [] : [`--controllers=${settings.controllers.toSorted().join(",")}`]),
  ...(settings.selector === undefined ? [] : [`--selector=${settings.selector}`]),
  ...(settings.server ? ["--server"] : []),
  ...(settings.installCrds ? ["--install-crds"] : []),
  // The same file may have another path, and its objects may have secrets.
  ...(manifests.length === 0
    ? []
    : [`--filename=${counted(manifests)}, sha256 ${digestOf(manifests)}, default namespace ${namespace ?? "default"}`])
]

const counted = ({ length }: ReadonlyArray<object>): string => `${length} object${length === 1 ? "" : "s"}`

const digestOf = (value: object): string =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12)

const earlier = (path: string) =>
  Effect.gen(function* () {
    const text = yield* ManifestFiles.read("since", path)
    const document = (yield* modules).Document.parse(text)
    return document === undefined
      ? yield* new ManifestFiles.InvalidFile({
          message: `--since: ${path} is not a plan (write one with plan -o json)`
        })
      : document
  })

/** The verb. It exits with 0 if nothing is to be written, with 2 if something is or may be, and with 1 after an error. */
export const verb = <R, E>(program: Program<R, E>) =>
  Verb.make("plan", {
    description:
      "Print what the controllers would write now; exit with 0 if nothing, 2 if something or unknown, 1 after an error",
    flags: flagsOf(program.controllers.map(({ name }) => name)),
    settings: program.settings,
    // Code 2 would mean that something is to be written.
    misuse: 1,
    examples: [
      ["Print what this build would write in the cluster of your kubeconfig.", "plan"],
      ["Print what it would write after a file is applied, for a merge request.", "plan -f webapp.yaml -o markdown"],
      ["Compare with the plan of another build.", "plan --since plan.json"]
    ],
    run: (settings) =>
      Effect.gen(function* () {
        if (settings.local && settings.server) {
          return yield* new Verb.UsageError({ message: "--local and --server: only one is possible" })
        }
        const before = settings.since === undefined ? undefined : yield* earlier(settings.since)
        const manifests = yield* ManifestFiles.objectsIn(settings.files)
        const cluster = yield* KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
        JitPolicy.work(program)
        const { Document, formats, Plan } = yield* modules
        const { make } = yield* Effect.promise(program.simulation)
        const controllers = Flags.chosen(program.controllers, settings.controllers)
        // As kubectl: the flag wins over the context.
        const namespace = settings.namespaces.length === 1 ? settings.namespaces[0] : cluster.namespace
        const layer: Layer.Layer<R, E, Manager.Runtime> = program.plannedLayer ?? program.layer
        const plan = yield* Plan.make(controllers, layer, {
          simulation: yield* make,
          namespaces: settings.namespaces,
          labelSelector: settings.selector,
          kinds: Kinds.of(program),
          installCrds: settings.installCrds,
          manifests,
          namespace,
          dryRuns: settings.server,
          timeout: settings.timeout,
          userAgent: Build.userAgent(program)
        }).pipe(
          Effect.provide(Transport.layer(cluster)),
          Effect.mapError((error) => FirstContact.rejection(cluster, error))
        )
        const { build, name, version } = program
        const maker = { name, version, ...(build !== undefined && { commit: build.commit }) }
        const document = Document.of(plan, maker, flagsIn(settings, manifests, namespace))
        if (before === undefined) {
          yield* Output.print(formats[settings.format].plan(document))
          return yield* Document.isEmpty(document) ? Effect.void : new Verb.Logged({ code: 2 })
        }
        const difference = Document.difference(before, document)
        yield* Output.print(formats[settings.format].difference(difference))
        return yield* Document.isSame(difference) ? Effect.void : new Verb.Logged({ code: 2 })
      }).pipe(Effect.scoped)
  })
