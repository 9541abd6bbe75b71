/** The mover's image contains the same program and the same restic as the tests. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"

const root = join(import.meta.dirname, "../../..")

test("The image of the mover has the restic of the tests, the program, a user other than root, and no secret", () => {
  const dockerfile = readFileSync(join(root, "deploy/mover/Dockerfile"), "utf8")
  const version = /restic\/restic v(\S+)/.exec(readFileSync(join(Assets.folder, "restic/go.mod"), "utf8"))?.[1] ?? ""
  expect(dockerfile).toContain(`FROM restic/restic:${version} AS restic\n`)
  expect(dockerfile).toMatch(/^COPY --from=restic --chmod=0555 \/usr\/bin\/restic \/usr\/local\/bin\/restic$/m)
  expect(dockerfile).toContain('ENTRYPOINT ["/usr/local/bin/homeostat", "mover"]')
  expect(dockerfile).toMatch(/^USER 65532:65532$/m)
  expect(dockerfile.match(/^ENV .*$/gm)).toEqual(["ENV DO_NOT_TRACK=1 BUN_ENABLE_CRASH_REPORTING=0"])
  expect(dockerfile).not.toMatch(/^(ADD|RUN)\b/m)
  // The mover's image and the manager's image have the same base.
  const base = (text: string) => /^ARG BASE=(\S+)$/m.exec(text)?.[1]
  expect(base(dockerfile)).toBe(base(readFileSync(join(root, "deploy/Dockerfile"), "utf8")))
})
