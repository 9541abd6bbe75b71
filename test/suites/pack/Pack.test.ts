/** The packages as a stranger gets them: packed here, installed, compiled and run in a project of his own. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import { live } from "@homeostat/testkit/Test"
import { Glob } from "bun"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Markdown from "../docs/Markdown.ts"
import * as Managed from "../Managed.ts"
import * as Stranger from "./Stranger.ts"
import * as Tarball from "./Tarball.ts"

const root = join(import.meta.dir, "../../..")

/** The newest compiler of the line before; the page has the newest of all. */
const typescript6 = "6.0.3"

const packages = {
  "@homeostat/observability": "observability",
  "@homeostat/runtime": "runtime",
  "@homeostat/testkit": "test/cluster"
}

const tarball = (name: string): Effect.Effect<Tarball.Tarball> =>
  Effect.flatMap(Stranger.tarballs, (paths) => Effect.promise(() => Tarball.read(paths[name] ?? "")))

describe.each(Object.entries(packages))("The package %s", (name, folder) => {
  live(
    "has every module of its folder with its declarations, and neither tests nor what only they need",
    () =>
      Effect.gen(function* () {
        const packed = yield* tarball(name)
        const isForOthers = (file: string) =>
          !/\.(test|fixture)\.ts$|\/fixtures\/|^(dist|node_modules)\/|^server\/openapi\/(generate|Recording)\.ts$/.test(
            file
          )
        const modules = Array.from(new Glob("**/*.ts").scanSync(join(root, folder))).filter(isForOthers)
        expect(Tarball.sources(packed).toSorted()).toEqual(modules.toSorted())
        expect(Tarball.declarations(packed).toSorted()).toEqual(modules.map(Tarball.declarationOf).toSorted())
      }),
    300_000
  )

  live("imports nothing that a stranger would not have", () =>
    Effect.map(tarball(name), (packed) => expect(Tarball.dangling(packed)).toEqual([]))
  )

  live("says what it is and under which licence, and what it needs in numbers", () =>
    Effect.gen(function* () {
      const { files } = yield* tarball(name)
      expect(files.get("README.md")).toStartWith(`# ${name}\n`)
      expect(files.get("LICENSE")).toBe(yield* Effect.promise(() => Bun.file(join(root, "LICENSE")).text()))
      expect(files.get("package.json")).not.toMatch(/catalog:|workspace:/)
    })
  )

  live("is found in order by publint", () =>
    Effect.gen(function* () {
      const installed = join(yield* Stranger.project, "node_modules", name)
      const { messages, pkg } = yield* Effect.promise(() => publint({ pkgDir: installed, pack: false }))
      expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
    })
  )
})

describe("A project outside of this repository", () => {
  live(
    "type-checks under TypeScript 7, and its test passes on the embedded cluster",
    () =>
      Effect.gen(function* () {
        const folder = yield* Stranger.project
        expect(yield* Stranger.run(folder, "bunx tsc --version")).toContain("Version 7.")
        yield* Stranger.follow("Its test")
      }),
    120_000
  )

  live(
    "type-checks under TypeScript 6, and as a module of Node's kind",
    () =>
      Effect.gen(function* () {
        const folder = yield* Stranger.project
        const compiler = join(folder, "typescript6")
        yield* Effect.promise(() =>
          Bun.write(join(compiler, "package.json"), JSON.stringify({ dependencies: { typescript: typescript6 } }))
        )
        yield* Stranger.run(compiler, "bun install")
        const tsc = "bun typescript6/node_modules/typescript/bin/tsc"
        expect(yield* Stranger.run(folder, `${tsc} --version`)).toBe(`Version ${typescript6}\n`)
        yield* Stranger.run(folder, tsc)
        yield* Stranger.run(folder, `bunx tsc --module nodenext --moduleResolution nodenext`)
      }),
    120_000
  )

  live(
    "finds no mistake in any of the declarations, and may write what the packages' READMEs show",
    () =>
      Effect.gen(function* () {
        const folder = yield* Stranger.project
        const examples = yield* Effect.promise(() => readmes(folder))
        const files = Array.from(new Glob("node_modules/@homeostat/*/dist/**/*.d.ts").scanSync(folder))
        expect(files.length).toBeGreaterThan(300)
        yield* Effect.promise(() =>
          Bun.write(
            join(folder, "tsconfig.declarations.json"),
            JSON.stringify({
              extends: "./tsconfig.json",
              // Declarations of others would be told as well, and some of them are wrong.
              compilerOptions: { skipLibCheck: false },
              files: [...files, ...examples]
            })
          )
        )
        const told = yield* Stranger.run(folder, "bunx tsc -p tsconfig.declarations.json || true")
        const ours = told.split("\n").filter((line) => /^(node_modules\/@homeostat|readme)/.test(line))
        expect(ours).toEqual([])
      }),
    120_000
  )

  live(
    "has one copy of Effect, of the runtime and of OpenTelemetry's packages, without overrides of its own",
    () =>
      Effect.gen(function* () {
        const folder = yield* Stranger.project
        const nested = Array.from(new Glob("node_modules/**/node_modules/**/package.json").scanSync(folder))
        const copies = nested.filter((file) =>
          /\/node_modules\/(effect|@(effect|homeostat|opentelemetry)\/[^/]+)\/package\.json$/.test(file)
        )
        expect(copies).toEqual([])
      }),
    60_000
  )

  live(
    "compiles to a program that prints its definitions and rights, and keeps the cluster as an object says",
    () =>
      Effect.gen(function* () {
        const folder = yield* Stranger.project
        const printed = (yield* Stranger.follow("The program")).slice(1).flatMap((text) => loadAll(text))
        expect(printed).toMatchObject([
          { kind: "CustomResourceDefinition", metadata: { name: "sites.web.example.org" } },
          { kind: "Role", metadata: { namespace: "sites" } },
          { kind: "RoleBinding" }
        ])

        const cluster = yield* EmbeddedCluster.make()
        const kubeconfig = join(folder, "kubeconfig")
        const text = Kubeconfig.render({ server: yield* cluster.serve(), ca: undefined, user: "stranger" })
        yield* Effect.promise(() => Bun.write(kubeconfig, text))
        const command = [join(folder, "dist/sites"), "run", "--install-crds", "--kubeconfig", kubeconfig]
        const program = yield* Running.start(command, Binary.bare(folder))
        yield* program.written(/Controller site starts/)

        const key = { namespace: "default", name: "home" }
        yield* Effect.gen(function* () {
          yield* Client.create(Site, { metadata: key, spec: { title: "Home", text: "Come in." } })
          const { status } = yield* Managed.eventually(
            "the Site is ready",
            Client.get(Site, key),
            ({ status }) => status?.configMap !== undefined
          )
          expect(status).toMatchObject({ configMap: "home-page", conditions: [{ type: "Ready", status: "True" }] })
          const page = yield* Client.get(ConfigMap, { namespace: "default", name: "home-page" })
          expect(page.data).toEqual({ "index.txt": "Home\n\nCome in.\n" })
        }).pipe(Effect.provide(cluster.client))

        yield* program.signal("SIGTERM")
        expect((yield* program.ended("20 seconds")).code).toBe(0)
      }),
    180_000
  )
})

test("The page names the versions that this repository has", async () => {
  const { workspaces } = await Bun.file(join(root, "package.json")).json()
  const page = await Bun.file(join(root, Stranger.page)).text()
  const block = Markdown.blocks(page).find(({ attributes }) => attributes.title === "package.json")
  const { dependencies, devDependencies } = JSON.parse(block?.text ?? "{}")
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    if (!name.startsWith("@homeostat/")) expect([name, version]).toEqual([name, workspaces.catalog[name]])
  }
})

/** A Site as anybody sees it who has not its program. */
const Site = Resource.make<
  KubernetesObject & {
    readonly spec: { readonly title: string; readonly text?: string }
    readonly status?: { readonly configMap?: string; readonly conditions?: ReadonlyArray<object> }
  }
>({ group: "web.example.org", version: "v1", kind: "Site", plural: "sites" })

/** Writes the examples of the READMEs as files of the project. */
const readmes = async (folder: string): Promise<ReadonlyArray<string>> => {
  const written: Array<string> = []
  for (const name of ["runtime", "observability"]) {
    const text = await Bun.file(join(folder, "node_modules/@homeostat", name, "README.md")).text()
    for (const [index, { text: code }] of Markdown.blocks(text)
      .filter(({ language }) => language === "ts")
      .entries()) {
      written.push(`readme-${name}-${index}.ts`)
      await Bun.write(join(folder, `readme-${name}-${index}.ts`), code)
    }
  }
  return written
}
