/**
 * The first story of the demo. It creates a WebApp, deletes and changes its Deployment, and sets an image that the node cannot pull.
 * The manager repairs the Deployment and reports the image. The story fails if a step does not happen in time.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Effect from "effect/Effect"
import { type Narrator, timed as timedBy } from "./Narrator.ts"

/** The time limit of a step. */
const patience = "20 seconds"

/** Runs the story with the WebApp of the sample manifest. */
export const run = (narrator: Narrator, namespace: string, sample: Parameters<typeof WebApp.Desired>[0]) =>
  Effect.gen(function* () {
    const name = sample.metadata.name ?? ""
    const key = { namespace, name }
    const get = Client.get(WebApp, key)
    const runs = eventually(
      `WebApp ${name} runs`,
      get,
      ({ metadata, status }) => status?.phase === "Running" && status.observedGeneration === metadata.generation,
      patience
    )
    const deployment = Client.get(Deployment, key)
    const timed = timedBy(narrator)

    yield* narrator.part("A WebApp becomes a Deployment and a Service")
    yield* narrator.report("you", "apply -f deploy/samples/webapp.yaml")
    yield* Client.create(WebApp, { ...sample, metadata: { ...sample.metadata, namespace } })
    yield* timed("everything runs", runs)

    yield* narrator.part("A user deletes the Deployment")
    const first = yield* deployment
    yield* narrator.report("you", `delete deployment ${name}`)
    yield* Client.delete(Deployment, key, { uid: first.metadata.uid })
    yield* timed(
      "the Deployment is back",
      eventually("the Deployment is back", deployment, ({ metadata }) => metadata.uid !== first.metadata.uid, patience)
    )
    yield* runs

    yield* narrator.part("A user scales the Deployment")
    const replicas = (yield* get).spec.replicas
    yield* narrator.report("you", `scale deployment ${name} --replicas=1`)
    yield* Client.scale.patch(Deployment, key, Patch.merge({ spec: { replicas: 1 } }))
    yield* timed(
      `there are to be ${replicas} again`,
      eventually("the replicas are repaired", deployment, ({ spec }) => spec?.replicas === replicas, patience)
    )
    yield* runs

    yield* narrator.part("A new image that can't be pulled, and its correction")
    const { image } = (yield* get).spec
    const setImage = (to: string) =>
      Effect.andThen(
        narrator.report("you", `set the image to ${to}`),
        Client.patch(WebApp, key, Patch.merge({ spec: { image: to } }))
      )
    yield* setImage(unpullable)
    yield* eventually(
      "the WebApp reports the trouble",
      get,
      ({ status }) => status?.conditions?.some(({ message }) => message.includes(unpullable)) === true,
      patience
    )
    const trouble = (yield* get).status?.conditions?.find(({ message }) => message.includes(unpullable))
    yield* narrator.report("webapp", `${name} says: ${trouble?.message ?? ""}`)
    yield* setImage(image)
    yield* timed("everything runs again", runs)
  })

/** An image that the demo's kubelet can't pull. */
export const unpullable = "nginx:1.72"
