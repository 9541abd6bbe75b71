/** The recording of discovery and documents waits until a kube-apiserver has published the custom kind in them. */

import * as Discovery from "@homeostat/apiserver/http/openapi/Discovery"
import { webApps } from "@homeostat/apiserver/kinds/Definitions.fixture"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, Schedule } from "effect"
import * as Dialogues from "../comparison/Dialogues.ts"
import type { Recorded } from "../comparison/Recording.ts"
import { openapi } from "./Dialogues.ts"

const { group, versions } = webApps.spec

const published = (cluster: ControlPlane) =>
  Effect.forEach(["/apis", ...versions.map(({ name }) => `/openapi/v3/apis/${group}/${name}`)], (path) =>
    cluster
      .request("GET", path, { accept: path === "/apis" ? Discovery.aggregatedType : undefined })
      .pipe(Effect.repeat({ until: ({ body }) => body.includes(group), schedule: Schedule.spaced("200 millis") }))
  )

const dialogues = Dialogues.recorded(openapi)

export const documents: Recorded = {
  ...dialogues,
  record: (cluster) =>
    cluster.install(webApps).pipe(Effect.andThen(published(cluster)), Effect.andThen(dialogues.record(cluster)))
}
