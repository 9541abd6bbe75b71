/** The page of the API resources of the embedded cluster: which of them tests compare with a real API server, and which it lacks. */

import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import { ask } from "@homeostat/apiserver/http/Client.fixture"
import * as Unserved from "@homeostat/apiserver/http/openapi/Unserved"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import * as Recording from "../../test/suites/comparison/Recording.ts"
import { dialogues } from "../../test/suites/comparison/Suites.ts"
import type { Page } from "./Page.ts"

/** A resource or subresource of a group and version: `apps/v1 deployments/scale`. */
const keyOf = (groupVersion: string, name: string): string => `${groupVersion} ${name}`

/** The resource of a path; `undefined` for other paths. */
const resourceIn = (path: string): string | undefined => {
  const [, core, groupVersion, rest = ""] = /^\/(?:api\/(v1)|apis\/([^/?]+\/[^/?]+))\/([^?]*)/.exec(path) ?? []
  const [plural, , subresource] = rest.replace(/^namespaces\/[^/]+\/(?=[^/]+)/, "").split("/")
  if (plural === undefined || plural === "") return undefined
  // `/finalize` and `/status` are subresources of a Namespace.
  const isNamespace = /^namespaces\/[^/]+\/(status|finalize)$/.exec(rest)
  const name =
    isNamespace === null
      ? subresource === undefined
        ? plural
        : `${plural}/${subresource}`
      : `namespaces/${isNamespace[1]}`
  return keyOf(core ?? groupVersion ?? "", name)
}

/** The numbers of compared requests. Requests that follow from an earlier answer do not count. */
const compared = new Map<string, number>()
for (const { dialogues: all } of dialogues) {
  for (const { reads, steps } of all) {
    const paths = steps.flatMap((step) => (typeof step === "function" ? [] : [step.path]))
    for (const path of [...paths, ...(reads === undefined ? [] : paths.map(() => reads))]) {
      const key = resourceIn(path)
      if (key !== undefined) compared.set(key, (compared.get(key) ?? 0) + 1)
    }
  }
}

const served = await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      const lists = yield* Effect.forEach(Unserved.resources.keys(), (groupVersion) =>
        Effect.map(ask(server, "GET", `/${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}`), ({ body }) =>
          Json.objects(body.resources).map(({ name }) => keyOf(groupVersion, String(name)))
        )
      )
      return new Set(lists.flat())
    })
  )
)

const stateOf = (key: string): string => {
  const count = compared.get(key) ?? 0
  if (!served.has(key)) return "501"
  return count === 0 ? "by schema" : `compared (${count})`
}

const sections = [...Unserved.resources].map(([groupVersion, resources]) => {
  const rows = resources.flatMap(({ plural, subresources }) => [
    plural,
    ...subresources.map(({ name }) => `${plural}/${name}`)
  ])
  const states = rows.map((name) => ({ name, state: stateOf(keyOf(groupVersion, name)) }))
  const isAbsent = states.every(({ state }) => state === "501")
  return { groupVersion, states, isAbsent }
})

const table = ({ groupVersion, states }: (typeof sections)[number]): string =>
  [
    `## ${groupVersion}`,
    "",
    "| Resource | State |",
    "| --- | --- |",
    ...states.map(({ name, state }) => `| \`${name}\` | ${state} |`)
  ].join("\n")

/** The page. */
export const page: Page = {
  path: "docs/embedded-resources.md",
  text: `# Resources of the embedded cluster

<!-- Made from the recordings and the discovery by \`bun run generate\`. A test compares it with the sources. -->

All resources of kube-apiserver ${Recording.version}, and what the [embedded cluster](embedded-cluster.md) does with each of them:

- **compared (n)**: the unit lane compares the answers to n requests with those of the real API server. The random requests of
  \`test/suites/agreement\` and the stories of the controllers do not count.
- **by schema**: the server reads, validates and stores objects by their schema. No test compares its answers.
- **501**: the server answers \`NotImplemented\` with the name of the resource.

The server lacks these groups: ${sections
    .filter(({ isAbsent }) => isAbsent)
    .map(({ groupVersion }) => `\`${groupVersion}\``)
    .join(", ")}.

${sections
  .filter(({ isAbsent }) => !isAbsent)
  .map(table)
  .join("\n\n")}
`
}
