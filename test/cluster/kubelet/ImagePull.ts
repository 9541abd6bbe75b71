/** Images that cannot be pulled. The kubelet reports the error, and the containers wait. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import type * as Events from "./Events.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

/** An image that cannot be pulled. */
export interface Refusal {
  readonly image: string
  /** The message of the first attempt; undefined: the kubelet has already tried. */
  readonly first: string | undefined
  /** The suffix of the message of later attempts. */
  readonly last: string
}

/** Returns the first image of a pod that cannot be pulled; undefined if every image can be pulled. */
export const refused = (pod: Pod, unpullable: ReadonlyArray<string>): Refusal | undefined => {
  const containers = pod.spec?.containers ?? []
  const message = pod.metadata.annotations?.[SimulatedPods.imagePullError]
  if (message !== undefined) {
    const image = containers[0]?.image
    return image === undefined ? undefined : { image, first: undefined, last: message === "" ? "" : `: ${message}` }
  }
  const image = containers.map(({ image = "" }) => image).find((one) => unpullable.includes(one))
  if (image === undefined) return undefined
  const first = `failed to pull and unpack image ${JSON.stringify(image)}: failed to resolve reference ${JSON.stringify(image)}: ${image}: not found`
  return { image, first, last: `: ErrImagePull: ${first}` }
}

/** Reports the failed attempts, and does not end. `setWaiting` sets the waiting reason and message of the containers with this image. */
export const report = <R, R2>(
  { first, image, last }: Refusal,
  setWaiting: (reason: string, message: string) => Effect.Effect<void, never, R>,
  record: (event: Events.PodEvent) => Effect.Effect<void, never, R2>
): Effect.Effect<never, never, R | R2> =>
  Effect.gen(function* () {
    const failed = (message: string) => record({ type: "Warning", reason: "Failed", message })
    if (first !== undefined) {
      yield* record({ reason: "Pulling", message: `Pulling image ${JSON.stringify(image)}` })
      yield* setWaiting("ErrImagePull", first)
      yield* failed(`Failed to pull image ${JSON.stringify(image)}: ${first}`)
      yield* failed("Error: ErrImagePull")
      yield* Effect.sleep("1 second")
      yield* record({ reason: "BackOff", message: `Back-off pulling image ${JSON.stringify(image)}` })
    }
    yield* setWaiting("ImagePullBackOff", `Back-off pulling image ${JSON.stringify(image)}${last}`)
    yield* failed("Error: ImagePullBackOff")
    return yield* Effect.never
  })
