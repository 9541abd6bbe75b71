/** The parts of pods that controllers usually read. */
import { Pod } from "../resource/BuiltIn.ts"
import * as Budget from "./Budget.ts"
import * as Transform from "./Transform.ts"

type Container = NonNullable<Pod["spec"]>["containers"][number]
type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number]
type Status = NonNullable<Pod["status"]>
type ContainerStatus = NonNullable<Status["containerStatuses"]>[number]

/** More containers or volumes are too large for the cache. */
const mostContainers = 200

/** The characters at the end of the termination message of a container that has started again. */
const mostWords = 1024

const part = <A, B>(list: ReadonlyArray<A>, of: (entry: A) => B): Array<B> => list.slice(0, mostContainers).map(of)

const containerPart = ({ image, name, readinessProbe, startupProbe }: Container): Container => ({
  name,
  ...(image !== undefined && { image }),
  ...(readinessProbe !== undefined && { readinessProbe }),
  ...(startupProbe !== undefined && { startupProbe })
})

/** A volume of a PersistentVolumeClaim, or with a claim of its own. */
const claimPart = ({ ephemeral, name, persistentVolumeClaim }: Volume): ReadonlyArray<Volume> =>
  persistentVolumeClaim !== undefined
    ? [{ name, persistentVolumeClaim }]
    : ephemeral !== undefined
      ? [{ name, ephemeral: {} }]
      : []

const specPart = ({ containers, nodeName, volumes = [] }: NonNullable<Pod["spec"]>): NonNullable<Pod["spec"]> => {
  const claims = volumes.flatMap(claimPart)
  return {
    containers: part(containers, containerPart),
    ...(nodeName !== undefined && { nodeName }),
    ...(claims.length > 0 && { volumes: part(claims, (claim) => claim) })
  }
}

const statusPart = ({
  containerID: _,
  imageID: __,
  resources: ___,
  allocatedResources: ____,
  volumeMounts: _____,
  ...status
}: ContainerStatus): ContainerStatus => {
  const died = status.lastState?.terminated
  // Controllers do not read the image ID that the type requires.
  const kept = status as ContainerStatus
  // The whole message of a container that has ended stays, because it can be the result of a Job.
  return died?.message === undefined || died.message.length <= mostWords
    ? kept
    : { ...kept, lastState: { terminated: { ...died, message: died.message.slice(-mostWords) } } }
}

/**
 * How a pod does: its labels and owners, its node, its claims, the images and the probes of its containers, and its status. Without
 * annotations, variables, commands and other volumes.
 */
export const partOf = ({ metadata, spec, status }: Pod): Pod => {
  const { annotations: _, ...identity } = metadata
  return {
    apiVersion: "v1",
    kind: Pod.kind,
    metadata: identity,
    ...(spec !== undefined && { spec: specPart(spec) }),
    ...(status !== undefined && {
      status: {
        ...status,
        ...(status.containerStatuses !== undefined && {
          containerStatuses: part(status.containerStatuses, statusPart)
        }),
        ...(status.initContainerStatuses !== undefined && {
          initContainerStatuses: part(status.initContainerStatuses, statusPart)
        })
      }
    })
  }
}

/** Keeps how a pod does: {@link partOf}. Controllers of one program share the cache of pods, so they share this transform, too. */
export const progress: Transform.Transform = Transform.of(Pod, partOf, { maxBytes: Budget.foreignBytes })
