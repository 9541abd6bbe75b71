/** The modules that every command of the program loads. Others are imported by the command that needs them. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"

const root = join(import.meta.dir, "../../..")

/** The inputs that the entry point imports without `import()`, and the modules of Node among their imports. */
const loaded = async () => {
  const { metafile } = await Bun.build({
    entrypoints: [join(root, "controllers/main.ts")],
    root,
    target: "bun",
    splitting: true,
    metafile: true
  })
  if (metafile === undefined) throw new Error("Bun returned no metafile")
  const inputs = new Set<string>()
  const builtins = new Set<string>()
  const visit = (path: string): void => {
    if (inputs.has(path)) return
    inputs.add(path)
    for (const { kind, path: imported } of metafile.inputs[path]?.imports ?? []) {
      if (kind === "dynamic-import") continue
      // Bun leaves unused modules of packages out of the inputs.
      if (metafile.inputs[imported] !== undefined) visit(imported)
      else if (!/[./]/.test(imported)) builtins.add(imported.replace("node:", ""))
    }
  }
  const entry = Object.keys(metafile.inputs).find((path) => path.endsWith("controllers/main.ts"))
  if (entry === undefined) throw new Error("the metafile does not have the entry point")
  visit(entry)
  return { inputs: [...inputs], builtins: [...builtins].sort() }
}

describe("a command", async () => {
  const { builtins, inputs } = await loaded()
  test("loads few modules of Node: node:crypto and node:http take 12 ms of every start", () => {
    expect(builtins).toEqual(["fs", "os", "path"])
  })
  test.each([
    ["the server of the webhooks", /runtime\/src\/webhook\/WebhookServer/],
    ["the reviews of the webhooks", /runtime\/src\/webhook\/AdmissionReview/],
    ["certificates", /runtime\/src\/manager\/Certificate/],
    ["the API server in memory", /test\/apiserver/],
    ["plans", /runtime\/src\/plan\/(Plan|Document|Text)/],
    ["replays", /runtime\/src\/replay\//],
    ["the file system", /platform-node-shared\/.*FileSystem/]
  ])("does not load %s", (_, module) => {
    expect(inputs.filter((path) => module.test(path))).toEqual([])
  })
})
