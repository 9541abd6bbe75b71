/** A misspelled field is a compile error in each function that writes an object, also beside right fields. */
import { expect, test } from "bun:test"
import * as Client from "../client/Client.ts"
import { ConfigMap, Deployment, Service } from "../resource/BuiltIn.ts"
import * as Owned from "./Owned.ts"
import * as Status from "./Status.ts"
import { Widget, type Widget as WidgetType } from "./World.fixture.ts"

const metadata = { name: "web", namespace: "default" }
const template = {}

test("The compiler rejects a misspelled field beside a right one", () => {
  const wrong = (owner: WidgetType, client: Client.Client["Service"]) => [
    // @ts-expect-error `port` is not a field
    Owned.apply(owner, Service, { metadata, spec: { type: "ClusterIP", port: [{ port: 80 }] } }),
    // @ts-expect-error `replica` is not a field
    Owned.apply(owner, Deployment, { metadata, spec: { replica: 3, selector: {}, template } }),
    // @ts-expect-error `label` is not a field
    Owned.apply(owner, ConfigMap, { metadata: { name: "web", label: { a: "b" } } }),
    // @ts-expect-error `dataa` is not a field
    Owned.apply(owner, ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `sise` is not a field
    Owned.apply(owner, Widget, { metadata, spec: { size: 1, sise: 1 } }),
    // @ts-expect-error `replica` is not a field
    Owned.child(Deployment, { metadata, spec: { replica: 3, selector: {}, template } }),
    // @ts-expect-error `dataa` is not a field
    Owned.child(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    Owned.all(owner, [Owned.child(ConfigMap, { metadata, data: {}, dataa: {} })]),
    // @ts-expect-error `dataa` is not a field
    Owned.allSettled(owner, { page: Owned.child(ConfigMap, { metadata, data: {}, dataa: {} }) }),
    // @ts-expect-error `dataa` is not a field
    Client.create(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    Client.replace(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    Client.apply(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    client.create(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    client.replace(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `dataa` is not a field
    client.apply(ConfigMap, { metadata, data: {}, dataa: {} }),
    // @ts-expect-error `fase` is not a field
    Status.update(owner, { phase: "Ready", fase: "Ready" }),
    // @ts-expect-error `fase` is not a field
    Status.ready(owner, { reason: "Good", message: "yes" }, { phase: "Ready", fase: "Ready" }),
    // @ts-expect-error `fase` is not a field
    Status.reconciling(owner, { reason: "Good", message: "yes" }, { phase: "Ready", fase: "Ready" }),
    // @ts-expect-error `fase` is not a field
    Status.stalled(owner, { reason: "Good", message: "yes" }, { phase: "Ready", fase: "Ready" })
  ]
  expect(wrong).toBeFunction()
})
