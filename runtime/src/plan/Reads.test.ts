import { describe, expect, test } from "bun:test"
import * as Access from "../controller/Access.ts"
import * as Rbac from "../manager/Rbac.ts"
import { ConfigMap, Job, Namespace, Pod, Secret } from "../resource/BuiltIn.ts"
import * as Reads from "./Reads.ts"

const gadgets: Access.Target = { group: "example.com", plural: "gadgets", namespaced: true }
const reviews: Access.Target = { group: "authorization.k8s.io", plural: "subjectaccessreviews", namespaced: false }

/** The rules of a plan of a controller with this access, in short. */
const rulesOf = (access: ReadonlyArray<Access.Access>, namespaces: ReadonlyArray<string> = []) =>
  Rbac.of(Reads.of([{ name: "a", resource: ConfigMap, access }], namespaces), { namespaces }).flatMap((object) =>
    "rules" in object
      ? object.rules.map(({ resourceNames = [], resources, verbs }) =>
          [verbs.join(), resources.join(), ...resourceNames].join(" ")
        )
      : []
  )

describe("The permissions of a plan are", () => {
  test("list for the cache, and get for the objects that the controller writes", () => {
    expect(rulesOf([Access.list(Pod), Access.watch(Pod)])).toEqual(["list pods"])
    expect(rulesOf([Access.patch(Job), Access.delete(Secret), Access.update(Pod, { subresource: "status" })])).toEqual([
      "get pods,secrets",
      "get jobs"
    ])
    expect(rulesOf([Access.of(Job, ["deletecollection"])])).toEqual(["list jobs"])
    expect(rulesOf([Access.get(Secret, { names: ["a"] })])).toEqual(["get secrets a"])
  })

  test("get namespaces, if the controller creates objects in them", () => {
    expect(rulesOf([Access.create(Job)])).toEqual(["get namespaces", "get jobs"])
    expect(rulesOf([Access.create(Job)], ["shop"])).toEqual(["get namespaces shop", "get jobs"])
    expect(rulesOf([Access.create(Namespace)])).toEqual(["get namespaces"])
    expect(rulesOf([Access.create(Pod, { subresource: "eviction" })])).toEqual(["get pods"])
  })

  test("get the definitions of custom kinds", () =>
    expect(rulesOf([Access.list(gadgets)])).toEqual([
      "get customresourcedefinitions gadgets.example.com",
      "list gadgets"
    ]))

  test("get other subresources, and create reviews, which the cluster answers", () => {
    expect(rulesOf([Access.get(Pod, { subresource: "log" }), Access.get(Job, { subresource: "status" })])).toEqual([
      "get pods/log",
      "get jobs"
    ])
    expect(rulesOf([Access.create(reviews)])).toEqual(["create subjectaccessreviews"])
  })

  test("not for Events and for verbs without a request", () =>
    expect(rulesOf([Access.events(), Access.bind({ group: "", plural: "x", namespaced: false })])).toEqual([]))
})
