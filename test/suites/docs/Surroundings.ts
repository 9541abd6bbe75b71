/** A folder with the built program, in which tests run the commands of pages on a cluster. */
import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Data, Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Node from "../binary/Node.ts"
import * as Running from "../binary/Running.ts"
import * as Managed from "../Managed.ts"
import * as Commands from "./Commands.ts"

/** A command of a page failed, or ended too early. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly place: string
  readonly text: string
  readonly end: Running.End
}> {
  override get message(): string {
    const { code, stderr, stdout } = this.end
    return `${this.place} ended with ${code}:\n${this.text}${stdout}${stderr}`
  }
}

/** Where the commands of a page run. */
export interface Surroundings {
  readonly tree: string
  readonly environment: Running.Environment
  readonly probes: string
}

/** Builds kubemem into a folder, and returns the program. */
const kubememIn = async (folder: string): Promise<string> => {
  const program = join(folder, "kubemem.mjs")
  const build = Bun.spawn([process.execPath, "run", "prepack", `--outfile=${program}`], {
    cwd: join(Commands.root, "test/kubemem"),
    stdout: "ignore",
    stderr: "pipe"
  })
  const [code, reason] = await Promise.all([build.exited, new Response(build.stderr).text()])
  if (code !== 0) throw new Error(`cannot build kubemem: ${reason}`)
  return program
}

/** A folder as after `git clone` and `bun run build`, and a PATH with `homeostat`, `kubectl` and `kubemem`. */
export const surroundings = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const home = yield* Directory.make
    const executable = yield* Binary.path
    const kubectl = yield* Assets.find("kubectl")
    const node = yield* Node.path
    const port = yield* Port.free
    const namespace = yield* cluster.namespace("docs")
    const tree = join(home, "homeostat")
    yield* Effect.promise(async () => {
      await mkdir(join(tree, "dist"), { recursive: true })
      await mkdir(join(home, "bin"))
      for (const entry of await readdir(Commands.root)) {
        if (entry === "dist" || entry === ".git") continue
        // kubectl does not follow links out of the folder.
        if (entry === "deploy") await cp(join(Commands.root, entry), join(tree, entry), { recursive: true })
        else await symlink(join(Commands.root, entry), join(tree, entry))
      }
      await symlink(executable, join(tree, "dist/homeostat"))
      await symlink(executable, join(home, "bin/homeostat"))
      await symlink(kubectl, join(home, "bin/kubectl"))
      await symlink(process.execPath, join(home, "bin/bun"))
      await symlink(node, join(home, "bin/node"))
      await symlink(await kubememIn(home), join(home, "bin/kubemem"))
      // Each page has an empty default namespace, and a free port in place of 8081.
      await writeFile(
        join(home, "kubeconfig"),
        (await Bun.file(cluster.admin.kubeconfigPath).text()).replace(
          /^(\s*)user: .*$/m,
          `$&\n$1namespace: ${namespace}`
        )
      )
      await writeFile(join(home, ".curlrc"), `fail\nconnect-to = "localhost:8081:127.0.0.1:${port}"\n`)
    })
    return {
      tree,
      probes: `http://127.0.0.1:${port}`,
      environment: {
        ...Binary.bare(home),
        PATH: `${join(home, "bin")}:${process.env.PATH}`,
        KUBECONFIG: join(home, "kubeconfig"),
        KUBERC: "off",
        HOMEOSTAT_HEALTH_PROBE_BIND_ADDRESS: `127.0.0.1:${port}`,
        HOMEOSTAT_PROBE_ADDRESS: `http://127.0.0.1:${port}`,
        STATE: join(home, "state")
      }
    } satisfies Surroundings
  })

/** The exit codes of an answer of `why`: the WebApp of the pages is not ready, because it has no kubelet. */
const whyCodes = [0, 3, 4]

/** A shell in the tree with the exported variables of earlier blocks. */
export const shell = ({ environment, tree }: Surroundings, text: string) =>
  Running.start(["bash", "-euo", "pipefail", "-c", `cd ${tree}; [ ! -f "$STATE" ] || . "$STATE"; ${text}`], environment)

/** Runs commands, and fails if they fail. */
export const succeed = (place: Surroundings, block: { readonly place: string; readonly text: string }) =>
  Effect.gen(function* () {
    const running = yield* shell(place, `${block.text}\nexport -p > "$STATE"`)
    const end = yield* running
      .ended("100 seconds")
      .pipe(
        Effect.catchTag("StillRunning", ({ stderr }) =>
          Effect.succeed<Running.End>({ code: "no code: it still runs", stdout: "", stderr, livedMillis: 100_000 })
        )
      )
    const codes: ReadonlyArray<unknown> = /^homeostat why /m.test(block.text) ? whyCodes : [0]
    if (!codes.includes(end.code)) return yield* new CommandFailed({ ...block, end })
  }).pipe(Effect.scoped)

/** Waits until a manager with these probes is ready. */
export const isReady = (probes: string) =>
  Managed.eventually(
    "a ready manager",
    Effect.promise(() =>
      fetch(`${probes}/readyz`).then(
        ({ ok }) => ok,
        () => false
      )
    ),
    (ok) => ok
  )

/** Installs the kinds. */
export const kinds = "kubectl apply -k deploy/crds && kubectl wait --for=condition=Established crd --all --timeout=60s"

/** Creates a WebApp `shop`. */
export const webApp = `kubectl apply -f - <<'END'
apiVersion: apps.kubedojo.io/v1beta1
kind: WebApp
metadata: { name: shop }
spec: { image: "nginx:1.27" }
END`
