import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Front from "./Front.ts"

describe("A manager that misses the answer to every fifth write", () => {
  Scene.real.empty(
    "creates each child and records its Event once, and applies each change of its WebApps",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, namespace } = scene
        const authority = yield* Certificates.authority
        const front = yield* Front.start(cluster, yield* authority.server({ dns: [], ip: ["127.0.0.1"] }))
        let writes = 0
        let lost = 0
        front.answers(({ method }) => {
          if (method === "GET" || ++writes % 5 !== 0) return "pass"
          lost++
          return "cut"
        })
        const admin = { ...cluster.admin, server: front.url, ca: authority.certificate }
        const manager = yield* Managed.start({ ...cluster, admin }, [controller], { namespaces: [namespace] })

        const names = Array.from({ length: 8 }, (_, index) => `shop-${index}`)
        const all = <A, E, R>(body: (name: string) => Effect.Effect<A, E, R>) =>
          Effect.forEach(names, body, { concurrency: "unbounded" })
        yield* all((name) => Scene.launch(scene, name, { image: "registry.test/web:1" }))
        yield* all((name) =>
          Client.patch(WebApp, scene.key(name), Patch.merge({ spec: { image: "registry.test/web:2" } }))
        )
        yield* all((name) => Scene.running(scene, name))
        expect(lost).toBeGreaterThan(4)

        const deployments = yield* Client.list(Deployment, { namespace })
        const services = yield* Client.list(Service, { namespace })
        expect(deployments.items.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort())
        expect(services.items.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort())
        expect(deployments.items.map((deployment) => Scene.containerOf(deployment)?.image)).toEqual(
          names.map(() => "registry.test/web:2")
        )
        // Generation 2 is the change of the image: there was no other write.
        expect(deployments.items.map(({ metadata }) => metadata.generation)).toEqual(names.map(() => 2))

        const counted = (name: string) =>
          Effect.map(Scene.events(scene, name), (events) =>
            events.map(({ count, reason }) => `${reason} ${count}`).sort()
          )
        for (const name of names) {
          const recorded = manager
            .recorded()
            .filter(({ regarding }) => regarding.metadata.name === name)
            .map(({ reason }) => reason)
          expect(recorded.sort()).toEqual(["ChildrenCreated", "DeploymentUpdated"])
          expect(
            yield* Managed.eventually(`the Events of ${name}`, counted(name), ({ length }) => length >= 2)
          ).toEqual(["ChildrenCreated 1", "DeploymentUpdated 1"])
        }
      }),
    180_000
  )
})
