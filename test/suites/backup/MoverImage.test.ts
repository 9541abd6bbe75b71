/** The mover's image has the mover's script and the restic that the tests use. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Mover from "../../Mover.ts"

const root = join(import.meta.dirname, "../../..")

test("The mover's image has the restic of the tests, the script, a user that is not root, and nothing of its own to hide", () => {
  const dockerfile = readFileSync(join(root, "deploy/mover/Dockerfile"), "utf8")
  const version = /restic\/restic v(\S+)/.exec(readFileSync(join(Assets.folder, "restic/go.mod"), "utf8"))?.[1] ?? ""
  expect(dockerfile).toContain(`FROM restic/restic:${version}\n`)
  const copied = /^COPY .* (\S+) (\S+)$/m.exec(dockerfile)
  expect(join(root, copied?.[1] ?? "")).toBe(Mover.script)
  expect(dockerfile).toContain(`ENTRYPOINT ["${copied?.[2]}"]`)
  expect(dockerfile).toMatch(/^USER 65532:65532$/m)
  expect(dockerfile).not.toMatch(/^(ENV|ARG|ADD|RUN)\b/m)
})
