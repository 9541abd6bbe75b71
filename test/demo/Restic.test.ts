import { expect, test } from "bun:test"
import * as Restic from "./Restic.ts"

test("restic is usable from version 0.17.1 on", () => {
  const usable = (version: string) => Restic.isUsable(`restic ${version} compiled with go1.26.8 on linux/amd64\n`)
  for (const version of ["0.17.1", "0.17.2", "0.18.0", "0.19.1", "1.0.0", "0.19.1-dev (compiled manually)"]) {
    expect([version, usable(version)]).toEqual([version, true])
  }
  for (const version of ["0.14.0", "0.17.0", "0.9.9"]) expect([version, usable(version)]).toEqual([version, false])
  expect(Restic.isUsable("")).toBe(false)
  expect(Restic.isUsable("rest-server 0.19.1")).toBe(false)
})
