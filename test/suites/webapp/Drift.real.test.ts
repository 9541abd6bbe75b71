/** What kubectl's own commands change in the children of a WebApp. */
import { describe } from "bun:test"
import { Effect } from "effect"
import * as Drift from "./Drift.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Scene from "./Scene.ts"

const by =
  (...command: ReadonlyArray<string>): Drift.Change =>
  (scene) =>
    Kubectl.run(scene, command)

const repaired: ReadonlyArray<Drift.Repaired> = [
  {
    change: "scale",
    by: by("scale", "deployment/shop", "--replicas=5"),
    reason: "DeploymentUpdated",
    names: "spec.replicas"
  },
  {
    change: "set image",
    by: by("set", "image", "deployment/shop", "app=registry.test/other:1"),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].image"
  },
  {
    change: "set env, which adds a variable,",
    by: by("set", "env", "deployment/shop", "DEBUG=1"),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env[DEBUG]"
  },
  {
    change: "set env, which removes a variable,",
    by: by("set", "env", "deployment/shop", "MODE-"),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env"
  },
  {
    change: "delete",
    by: by("delete", "service/shop"),
    reason: "ServiceCreated",
    names: "Created Service shop"
  }
]

describe.concurrent("what is done with kubectl", () => {
  for (const one of repaired) {
    Scene.real.managed(`${one.change} is put right, told once, and then nobody writes any more`, (scene) =>
      Drift.isRepaired(scene, one)
    )
  }

  Scene.real.managed("rollout restart is left alone", (scene) =>
    Drift.isLeft(scene, {
      change: "a restart",
      by: by("rollout", "restart", "deployment/shop"),
      shows: (scene) =>
        Effect.map(
          Scene.pods(scene, "shop"),
          (pods) => pods.filter(({ metadata }) => metadata.annotations?.["kubectl.kubernetes.io/restartedAt"]).length
        ),
      as: 2
    })
  )
})
