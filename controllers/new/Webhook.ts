/** The files of new webhooks: rules that hold for any kind, with their tests. Pure. */
import * as Names from "./Names.ts"

/** The facts for new webhooks of a controller. */
export interface Facts {
  /** The name of the controller and of its folder. */
  readonly name: string
  readonly kind: string
  readonly group: string
  readonly plural: string
  readonly namespaced: boolean
  /** The spec of a valid object. */
  readonly spec: unknown
}

/** The texts of the files by their paths from the root. */
export const files = (facts: Facts): ReadonlyMap<string, string> =>
  new Map([
    [`controllers/${facts.name}/admission.ts`, rules(facts)],
    [`controllers/${facts.name}/admission.test.ts`, tests(facts)]
  ])

const rules = ({
  group,
  kind,
  namespaced,
  plural
}: Facts): string => `/** The admission rules of ${kind} objects: what the API server denies, and what it sets at a write. Replace them by rules of your own. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Admission from "@homeostat/runtime/webhook/Admission"
import * as Effect from "effect/Effect"
import { ${kind} } from "./${kind}.ts"

/** The annotation with the user who created the object. */
export const createdBy = "${group}/created-by"

/** The limit of objects${namespaced ? " in a namespace" : ""}. Creations at the same time may exceed it. */
export const most = 10

const creator = (object: string) => \`\${object}.metadata.?annotations[?'\${createdBy}'].orValue('')\`

/** The webhooks and policies. */
export const admission = [
  Admission.validate(${kind}, {
    // In TypeScript: a check may be an Effect, which the manager runs. It may ask the API server, with these permissions.
    access: [Access.of(${kind}, ["list"])],
    write: (_, { ${namespaced ? "namespace, " : ""}operation }) =>
      operation === "CREATE"
        ? Effect.map(Client.list(${kind}${namespaced ? ", { namespace }" : ""}), ({ items }) =>
            items.length < most
              ? []
              : [Admission.forbidden(\`${namespaced ? `the namespace \${namespace}` : "the cluster"} has \${items.length} ${plural} (delete one first)\`)]
          )
        : Effect.succeed([]),
    // In CEL: the API server evaluates it, also while no manager runs.
    cel: [
      {
        name: "creator",
        expression: \`request.operation == 'CREATE' || \${creator("object")} == \${creator("oldObject")}\`,
        message: \`metadata.annotations: \${createdBy} cannot change\`,
        changes: "all"
      }
    ]
  }),
  Admission.default(
    ${kind},
    (_, { userInfo }) => ({ metadata: { annotations: { [createdBy]: userInfo.username } } }),
    { operations: ["CREATE"] }
  )
]
`

const tests = ({
  kind,
  namespaced,
  spec
}: Facts): string => `/** The admission rules of ${kind} objects on the embedded cluster, which calls them in this process. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { admission, createdBy, most } from "./admission.ts"
import { ${kind} } from "./${kind}.ts"

// The checks run with the permissions that they declare.
const as = Rbac.of([], { webhooks: admission })
const test = Harness.make({ crds: [Crd.of(${kind})], webhooks: admission, as, manager: Effect.void })

const create = (name: string) =>
  Client.create(${kind}, { metadata: { ${namespaced ? 'namespace: "default", ' : ""}name }, spec: ${JSON.stringify(spec)} })

const patch = (name: string, annotations: object) =>
  Client.patch(${kind}, { ${namespaced ? 'namespace: "default", ' : ""}name }, Patch.merge({ metadata: { annotations } }))

test("${Names.articled(kind)} has an annotation with its creator, which no user can change", () =>
  Effect.gen(function* () {
    const { metadata } = yield* create("sample")
    expect(metadata.annotations?.[createdBy]).toBe("admin")
    const refused = yield* Effect.flip(patch("sample", { [createdBy]: "other" }))
    expect(refused.message).toContain(\`\${createdBy} cannot change\`)
    yield* patch("sample", { "example.com/note": "hello" })
  }))

test("the API server denies the creation beyond the limit", () =>
  Effect.gen(function* () {
    yield* Effect.forEach(Array.from({ length: most }, (_, at) => \`sample-\${at}\`), create)
    const refused = yield* Effect.flip(create("one-more"))
    expect(refused.message).toContain(\`has \${most} \`)
    yield* Client.delete(${kind}, { ${namespaced ? 'namespace: "default", ' : ""}name: "sample-0" })
    yield* create("one-more")
  }))
`
