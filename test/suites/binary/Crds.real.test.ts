/** The program on a cluster whose API server denies it the permission for CRDs. */
import { describe, expect } from "bun:test"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"

describe("A cluster without the CustomResourceDefinition", () => {
  Shared.real("makes --install-crds fail without permission, with a line that names the permission", (cluster) =>
    Effect.gen(function* () {
      const nobody = yield* cluster.addUser({ name: "nobody" })
      const end = yield* Binary.run(
        ["run", "--kubeconfig", nobody.kubeconfigPath, "--install-crds"],
        Binary.plain(cluster.directory)
      )
      expect(end.code).toBe(1)
      expect(end.stderr.trimEnd().split("\n").at(-1)).toMatch(
        /^homeostat: GET \/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions\/webapps\.apps\.kubedojo\.io: .*User "nobody" cannot get resource "customresourcedefinitions"/
      )
    })
  )
})
