/** The packages, installed, compiled and run in a project outside of this repository. */
import { describe, expect } from "bun:test"
import { rm } from "node:fs/promises"
import { basename, join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import * as Build from "@homeostat/runtime/command/Build"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import { live } from "@homeostat/testkit/Test"
import { Glob } from "bun"
import { validate } from "dockerfile-utils"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import * as Sources from "../../../deploy/build/Sources.ts"
import * as Binary from "../binary/Binary.ts"
import * as Dockerfile from "../binary/Dockerfile.ts"
import * as Running from "../binary/Running.ts"
import * as Markdown from "../docs/Markdown.ts"
import * as Managed from "../Managed.ts"
import * as Project from "./Project.ts"
import * as Tarball from "./Tarball.ts"

const root = join(import.meta.dir, "../../..")

/** The newest compiler of the previous major version. */
const typescript6 = "6.0.3"

const packages = {
  "@homeostat/apiserver": "test/apiserver",
  "@homeostat/observability": "observability",
  "@homeostat/runtime": "runtime",
  "@homeostat/testkit": "test/cluster"
}

const tarball = (name: string): Effect.Effect<Tarball.Tarball> =>
  Effect.flatMap(Project.tarballs, (paths) => Effect.promise(() => Tarball.read(paths[name] ?? "")))

describe.each(Object.entries(packages))("The package %s", (name, folder) => {
  live(
    "has every module of its folder with its declarations, without tests and their fixtures",
    () =>
      Effect.gen(function* () {
        const packed = yield* tarball(name)
        const isForOthers = (file: string) => !/\.(test|fixture)\.ts$|\/fixtures\/|^(dist|node_modules)\//.test(file)
        const modules = Array.from(new Glob("**/*.ts").scanSync(join(root, folder))).filter(isForOthers)
        expect(Tarball.sources(packed).toSorted()).toEqual(modules.toSorted())
        expect(Tarball.declarations(packed).toSorted()).toEqual(modules.map(Tarball.declarationOf).toSorted())
      }),
    300_000
  )

  live("imports only its dependencies", () =>
    Effect.map(tarball(name), (packed) => expect(Tarball.dangling(packed)).toEqual([]))
  )

  live("has a README, a licence, and dependencies with versions", () =>
    Effect.gen(function* () {
      const { files } = yield* tarball(name)
      expect(files.get("README.md")).toStartWith(`# ${name}\n`)
      expect(files.get("LICENSE")).toBe(yield* Effect.promise(() => Bun.file(join(root, "LICENSE")).text()))
      expect(files.get("package.json")).not.toMatch(/catalog:|workspace:/)
      const { version } = yield* Effect.promise(() => Bun.file(join(root, folder, "package.json")).json())
      const { commit } = yield* Sources.of(root, undefined)
      expect(JSON.parse(files.get("package.json") ?? "").version).toBe(Build.versionOf(version, commit))
    })
  )

  live("passes publint", () =>
    Effect.gen(function* () {
      const installed = join(yield* Project.project, "node_modules", name)
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
        const folder = yield* Project.project
        expect(yield* Project.run(folder, "bunx tsc --version")).toContain("Version 7.")
        yield* Project.follow("Test the controller")
      }),
    120_000
  )

  live(
    "gets the code of a newer tarball of the same name",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const clone = join(folder, "clone")
        yield* Effect.acquireRelease(
          Project.run(folder, "mkdir -p clone/project clone/dist/packages && cp vendor/* clone/dist/packages/"),
          () => Effect.promise(() => rm(clone, { recursive: true }))
        )
        yield* Project.run(folder, "cp package.json clone/project")
        const install = Project.follow("Set up the project", { folder: join(clone, "project"), clone })
        const readme = Project.run(clone, "head -n 1 project/node_modules/@homeostat/observability/README.md")
        yield* install
        expect(yield* readme).toBe("# @homeostat/observability\n")
        const { "@homeostat/observability": path = "" } = yield* Project.tarballs
        const newer = join(clone, "dist/packages", basename(path))
        yield* Effect.promise(() => Tarball.change(newer, "README.md", (text) => `A newer build\n${text}`))
        yield* install
        expect(yield* readme).toBe("A newer build\n")
      }),
    120_000
  )

  live(
    "fails its check for a forgotten yield*, which tsc does not report",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const [mistake] = yield* Effect.promise(() => mistakes())
        const file = join(folder, "forgotten.ts")
        yield* Effect.acquireRelease(
          Effect.promise(() => Bun.write(file, mistake ?? "")),
          () => Effect.promise(() => rm(file))
        )
        yield* Project.run(folder, "bunx tsc")
        const failed = yield* Effect.flip(Project.run(folder, "bun run check"))
        expect(Bun.stripANSI(failed.message)).toMatch(/forgotten\.ts:\d+:\d+ - error effect\(floatingEffect\)/)
      }),
    120_000
  )

  live(
    "type-checks under TypeScript 6, also with Node modules",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const compiler = join(folder, "typescript6")
        yield* Effect.promise(() =>
          Bun.write(join(compiler, "package.json"), JSON.stringify({ dependencies: { typescript: typescript6 } }))
        )
        yield* Project.run(compiler, "bun install")
        const tsc = "bun typescript6/node_modules/typescript/bin/tsc"
        expect(yield* Project.run(folder, `${tsc} --version`)).toBe(`Version ${typescript6}\n`)
        yield* Project.run(folder, tsc)
        yield* Project.run(folder, `bunx tsc --module nodenext --moduleResolution nodenext`)
      }),
    120_000
  )

  live(
    "ends with the sentence of the page at its first import if it has Effect 3",
    () =>
      Effect.gen(function* () {
        const project = yield* Project.project
        const folder = join(project, "effect3")
        yield* Effect.acquireRelease(Project.run(project, "mkdir effect3 && cp *.ts effect3"), () =>
          Effect.promise(() => rm(folder, { recursive: true }))
        )
        const manifest = yield* Effect.promise(() => Bun.file(join(project, "package.json")).text())
        const changed = manifest.replace(/"effect": ".*"/, '"effect": "3.22.4"').replaceAll("file:", "file:../")
        yield* Effect.promise(() => Bun.write(join(folder, "package.json"), changed))
        yield* Project.run(folder, "bun install")
        const page = yield* Effect.promise(() => Bun.file(join(root, Project.page)).text())
        const shown = Markdown.blocks(page).find(({ text }) => text.startsWith("error:"))?.text ?? ""
        const sentence = /'(#.*)'(?= from)/.exec(shown)?.[1] ?? "no sentence on the page"
        for (const command of ["bun main.ts run", "bun test ./controller.spec.ts", "bun build --target=bun main.ts"]) {
          const { message } = yield* Effect.flip(Project.run(folder, command))
          expect([command, message]).toEqual([command, expect.stringContaining(sentence)])
        }
      }),
    120_000
  )

  live(
    "type-checks all declarations and the examples of the READMEs",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const examples = yield* Effect.promise(() => readmes(folder))
        const files = Array.from(new Glob("node_modules/@homeostat/*/dist/**/*.d.ts").scanSync(folder))
        expect(files.length).toBeGreaterThan(300)
        yield* Effect.promise(() =>
          Bun.write(
            join(folder, "tsconfig.declarations.json"),
            JSON.stringify({
              extends: "./tsconfig.json",
              // The check also reports wrong declarations of other packages.
              compilerOptions: { skipLibCheck: false },
              files: [...files, ...examples]
            })
          )
        )
        const output = yield* Project.run(folder, "bunx tsc -p tsconfig.declarations.json || true")
        const ours = output.split("\n").filter((line) => /^(node_modules\/@homeostat|readme)/.test(line))
        expect(ours).toEqual([])
      }),
    120_000
  )

  live(
    "has one copy of Effect, of the runtime and of OpenTelemetry without overrides",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const nested = Array.from(new Glob("node_modules/**/node_modules/**/package.json").scanSync(folder))
        const copies = nested.filter((file) =>
          /\/node_modules\/(effect|@(effect|homeostat|opentelemetry)\/[^/]+)\/package\.json$/.test(file)
        )
        expect(copies).toEqual([])
      }),
    60_000
  )

  live(
    "compiles to a program that prints its definitions and permissions and reconciles an object",
    () =>
      Effect.gen(function* () {
        const folder = yield* Project.project
        const outputs = [
          ...(yield* Project.follow("Build and run the program")),
          ...(yield* Project.follow("Deploy the program"))
        ]
        const printed = outputs.slice(1).flatMap((text) => loadAll(text))
        expect(printed.slice(0, 3)).toMatchObject([
          { kind: "CustomResourceDefinition", metadata: { name: "sites.web.example.org" } },
          { kind: "Role", metadata: { namespace: "sites" } },
          { kind: "RoleBinding" }
        ])
        expect(printed.at(-1)).toMatchObject({
          kind: "Deployment",
          metadata: { namespace: "sites-system", name: "sites" }
        })

        const cluster = yield* EmbeddedCluster.make()
        const kubeconfig = join(folder, "kubeconfig")
        const text = Kubeconfig.render({ server: yield* cluster.serve(), ca: undefined, user: "project" })
        yield* Effect.promise(() => Bun.write(kubeconfig, text))
        const command = [join(folder, "dist/sites"), "run", "--install-crds", "--kubeconfig", kubeconfig]
        const program = yield* Running.start(command, Binary.bare(folder))
        yield* program.written(/Starting controller site/)

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

live("The Dockerfile of the page passes the linter, and runs the program like that of this repository", () =>
  Effect.gen(function* () {
    const text = yield* Effect.flatMap(Project.project, (folder) =>
      Effect.promise(() => Bun.file(join(folder, "Dockerfile")).text())
    )
    expect(validate(text)).toEqual([])
    const theirs = Dockerfile.of(text)
    expect(theirs("FROM")).toEqual(
      Dockerfile.all("ARG")
        .slice(0, 1)
        .map((rest) => rest.replace("BASE=", ""))
    )
    for (const keyword of ["ENV", "USER", "CMD"]) expect(theirs(keyword)).toEqual(Dockerfile.all(keyword))
    expect(theirs("COPY").concat(theirs("ENTRYPOINT"))).toEqual([
      "dist/sites /usr/local/bin/sites",
      '["/usr/local/bin/sites"]'
    ])
  })
)

/** A Site without the schema of its program. */
const Site = Resource.make<
  KubernetesObject & {
    readonly spec: { readonly title: string; readonly text?: string }
    readonly status?: { readonly configMap?: string; readonly conditions?: ReadonlyArray<object> }
  }
>({ group: "web.example.org", version: "v1", kind: "Site", plural: "sites" })

/** The mistakes of docs/effect.md; the first one is a forgotten yield*. */
const mistakes = async (): Promise<ReadonlyArray<string>> =>
  Markdown.blocks(await Bun.file(join(root, "docs/effect.md")).text()).flatMap(({ attributes: { mistake }, text }) =>
    mistake === undefined ? [] : [text]
  )

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
