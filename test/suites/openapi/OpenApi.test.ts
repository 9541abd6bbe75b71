/** Discovery, OpenAPI documents and tables of the embedded server are those of the recorded kube-apiserver. */
import { expect, test } from "bun:test"
import { names } from "@homeostat/apiserver/kinds/Names"
import * as Replay from "../comparison/Replay.ts"
import { openapi } from "./Dialogues.ts"
import { gaps } from "./Served.ts"

Replay.tests(openapi)

test("each gap of discovery is a subresource of a kube-apiserver", () => {
  const all = new Set(names.flatMap(({ plural, subresources }) => subresources.map(({ name }) => `${plural}/${name}`)))
  expect([...gaps].filter((gap) => !all.has(gap))).toEqual([])
})
