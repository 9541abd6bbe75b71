import { describe, expect, test } from "bun:test"
import * as Negotiation from "./Negotiation.ts"

const meta = ";v=v1;g=meta.k8s.io"

const gives = (accept: string | undefined, expected: string, target: Negotiation.Target = { custom: true }) =>
  test(`Accept ${JSON.stringify(accept)} gives ${expected}`, () => {
    const { format, version, view } = Negotiation.accepted(accept, target)
    expect(`${format} ${view} ${version}`).toBe(expected)
  })

const refuses = (accept: string, message: string, target: Negotiation.Target) =>
  test(`Accept ${JSON.stringify(accept)} of ${JSON.stringify(target)} is refused`, () => {
    expect(() => Negotiation.accepted(accept, target)).toThrow(expect.objectContaining({ code: 406, message }))
  })

describe("the format of a response", () => {
  for (const accept of [
    undefined,
    "",
    "*/*",
    "application/*",
    "application/json",
    "text/html,application/xml;q=0.9,*/*;q=0.8"
  ]) {
    gives(accept, "json object v1")
  }
  gives("application/yaml", "yaml object v1")
  gives("application/json;q=0.1, application/yaml;q=0.9", "yaml object v1")
  gives("application/*;q=0.5,application/yaml;q=0.4", "yaml object v1")
  gives("application/vnd.kubernetes.protobuf, application/json", "protobuf object v1", { custom: false })
  gives(`application/json;as=Table${meta}`, "json Table v1")
  gives(`*/*;as=Table${meta}`, "json Table v1")
  gives("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "json Table v1beta1")
  gives(`application/json;as=Foo${meta}, application/json`, "json object v1")
  gives(`application/yaml;as=PartialObjectMetadataList${meta}`, "yaml PartialObjectMetadataList v1")
  gives("application/json;stream=watch", "json object v1", { custom: true, watch: true })

  test("may be indented", () => {
    expect(Negotiation.accepted("application/json;pretty=1", { custom: true }).pretty).toBe(true)
  })

  const published =
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
  for (const accept of [
    "application/foo",
    "application/json;as=Table",
    `application/json;as=Foo${meta}`,
    "APPLICATION/JSON"
  ]) {
    refuses(accept, published, { custom: true })
  }
  refuses(
    "application/yaml",
    "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    { custom: true, watch: true }
  )
  refuses(
    "application/*",
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    { custom: false }
  )
  refuses(
    "text/plain",
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    { custom: false, collection: true }
  )
  gives("application/vnd.kubernetes.protobuf", "protobuf object v1", { custom: false })
  gives("application/vnd.kubernetes.protobuf", "protobuf object v1", { custom: false, watch: true })
  refuses("application/vnd.kubernetes.protobuf", published, { custom: true })
  gives("application/vnd.kubernetes.protobuf, application/json", "json object v1")
  gives(`application/vnd.kubernetes.protobuf;as=PartialObjectMetadata${meta}`, "protobuf PartialObjectMetadata v1")
  refuses(`application/vnd.kubernetes.protobuf;as=Table${meta}`, published, { custom: false })
})

describe("the format of a body", () => {
  for (const type of [
    undefined,
    "",
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    "application/json;"
  ]) {
    test(`Content-Type ${JSON.stringify(type)} is JSON`, () => expect(Negotiation.bodyFormat(type, true)).toBe("json"))
  }
  test("may be YAML", () => expect(Negotiation.bodyFormat("application/yaml;a=b", true)).toBe("yaml"))
  for (const type of ["text/plain", "foo", "application/json; x", "text/yaml"]) {
    test(`Content-Type ${JSON.stringify(type)} is refused`, () => {
      expect(() => Negotiation.bodyFormat(type, true)).toThrow(
        expect.objectContaining({
          code: 415,
          message:
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        })
      )
    })
  }
  test("may be protobuf, except for custom kinds", () => {
    expect(Negotiation.bodyFormat("application/vnd.kubernetes.protobuf", false)).toBe("protobuf")
    expect(() => Negotiation.bodyFormat("application/vnd.kubernetes.protobuf", true)).toThrow(
      "the body of the request was in an unknown format"
    )
  })
})

describe("the type of a patch", () => {
  test("comes from the Content-Type without its parameters", () => {
    expect(Negotiation.patchType("application/merge-patch+json; charset=utf-8", true)).toBe("merge")
    expect(Negotiation.patchType("application/json-patch+json", false)).toBe("json")
    expect(Negotiation.patchType("application/strategic-merge-patch+json", false)).toBe("strategic")
    expect(Negotiation.patchType("application/apply-patch+yaml", true)).toBe("apply")
  })
  test("of custom kinds is never strategic", () => {
    expect(() => Negotiation.patchType("application/strategic-merge-patch+json", true)).toThrow(
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )
  })
  for (const type of [undefined, "application/json", "APPLICATION/merge-patch+json"]) {
    test(`rejects ${JSON.stringify(type)}`, () => {
      expect(() => Negotiation.patchType(type, false)).toThrow(
        expect.objectContaining({ code: 415, message: "415: Unsupported Media Type" })
      )
    })
  }
})
