/** Tests that a picture omits the fields that differ between equal runs, by the part of the object that contains them. */
import { expect, test } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Picture from "@homeostat/testkit/explore/Picture"

const view = { base: { revision: 0, storages: {} }, storages: new Set(["s"]), roots: new Set<string>() }

const pictureOf = (object: JsonObject): Picture.Picture =>
  Picture.of({ revision: 1, storages: { s: [{ kind: "Service", ...object }] } }, view)

const differ = (one: JsonObject, other: JsonObject): ReadonlyArray<string> =>
  Picture.differences(pictureOf(one), pictureOf(other)).map(({ path }) => path)

const metadata = { name: "shop" }

test("uids, generations and versions of the metadata are left out, and fields of these names elsewhere are not", () => {
  const of = (value: string) => ({ uid: value, generation: value, resourceVersion: value })
  expect(differ({ metadata: { ...metadata, ...of("1") } }, { metadata: { ...metadata, ...of("2") } })).toEqual([])
  expect(differ({ metadata, spec: of("1") }, { metadata, spec: of("2") })).toEqual([
    "spec.generation",
    "spec.resourceVersion",
    "spec.uid"
  ])
})

test("addresses in the status of all kinds and in the spec of a Service are left out, and others are not", () => {
  const of = (value: string) => ({ podIP: value, clusterIP: value })
  expect(differ({ metadata, status: of("1") }, { metadata, status: of("2") })).toEqual(["status.clusterIP"])
  expect(differ({ metadata, spec: of("1") }, { metadata, spec: of("2") })).toEqual(["spec.podIP"])
  const own = { kind: "Claim", metadata }
  expect(differ({ ...own, spec: of("1") }, { ...own, spec: of("2") })).toEqual(["spec.clusterIP", "spec.podIP"])
})
