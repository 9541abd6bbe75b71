/** The example of the testkit's README, unchanged. */
import * as Client from "@homeostat/runtime/client/Client"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Effect from "effect/Effect"

const test = Harness.of([controller])

const key = { namespace: "default", name: "shop" }

test("a WebApp runs", () =>
  Client.create(WebApp, { metadata: key, spec: { image: "nginx:1.27" } }).pipe(
    Effect.andThen(eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running"))
  ))
