/** The unmodified `kubernetes` of PyPI on kubemem, with tokens over TLS. */
import { expect } from "bun:test"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Peers from "./Peers.ts"

live(
  "the client of PyPI works on kubemem",
  () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const packages = join(Peers.builds, "python")
      yield* Effect.promise(() => mkdir(packages, { recursive: true }))
      const requirements = join(Peers.sources, "python/requirements.txt")
      const pip = [
        "python3",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--root-user-action",
        "ignore"
      ]
      yield* Peers.run([...pip, "--upgrade", "--target", packages, "--requirement", requirements], { cwd: folder })
      yield* Effect.promise(() => writeFile(join(folder, "users.csv"), 'secret,ann,1,"devs"\n'))
      const env = yield* Peers.cluster(folder, ["--users", "users.csv"])
      const printed = yield* Peers.run(["python3", join(Peers.sources, "python/peer.py"), "kubemem"], {
        cwd: folder,
        env: { ...env, PYTHONPATH: packages }
      })
      expect(printed).toEndWith("passed\n")
    }),
  Peers.limitMillis
)
