/** Tests of `security: Restricted` in a namespace that enforces the Pod Security Standard of that name. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Namespace } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"

/** A pod template that the standard refuses. */
const podTemplate = {
  spec: {
    securityContext: { runAsNonRoot: false, seccompProfile: { type: "Unconfined" } },
    initContainers: [{ name: "wait", image }],
    containers: [
      {
        name: "app",
        securityContext: { privileged: true, runAsNonRoot: false, capabilities: { add: ["SYS_ADMIN"] } }
      },
      { name: "sidecar", image }
    ]
  }
}

describe("security: Restricted", () => {
  Scene.real.managed("runs in a restricted namespace, whatever security context the podTemplate has", (scene) =>
    Effect.gen(function* () {
      const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
      yield* Client.patch(Namespace, { name: scene.namespace }, Patch.merge({ metadata: { labels } }))
      yield* Scene.launch(scene, "shop", { image, security: "Restricted", podTemplate })
      expect((yield* Scene.pods(scene, "shop")).length).toBeGreaterThan(0)
    })
  )
})
