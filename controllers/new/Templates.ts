/** The files beside the modules of a new controller: its package.json, a sample and a page. */
import type { Names } from "./Names.ts"

/** Its `package.json`, with the workspace's version and dependencies. */
export const manifest = ({ kind, package: name }: Names, version: string): string => `{
  "name": "${name}",
  "version": "${version}",
  "description": "The ${kind} controller: a Deployment per ${kind}",
  "license": "Apache-2.0",
  "type": "module",
  "exports": {
    ".": "./controller.ts",
    "./*": "./*.ts"
  },
  "dependencies": {
    "@homeostat/runtime": "workspace:*",
    "effect": "catalog:"
  },
  "devDependencies": {
    "@homeostat/testkit": "workspace:*"
  }
}
`

/** A sample object. */
export const sample = ({ group, kind, name, version }: Names): string => `apiVersion: ${group}/${version}
kind: ${kind}
metadata:
  name: demo-${name}
spec:
  image: nginx:1.27
  replicas: 2
`

/** Commands, each with a comment. */
export const columns = (lines: ReadonlyArray<readonly [command: string, note?: string]>): string => {
  const width = Math.max(...lines.map(([command, note]) => (note === undefined ? 0 : command.length)))
  return lines.map(([command, note]) => (note === undefined ? command : `${command.padEnd(width)}  ${note}`)).join("\n")
}

/** The page: the purpose of the controller, and the next steps. */
export const page = ({ kind, name, one }: Names): string => `# ${kind}

${one.replace(/^a/, "A")} is a container image that runs in a number of pods. Its controller keeps a Deployment of the same name, and reports
the progress in the status.

| file               | content                                                                            |
| ------------------ | ---------------------------------------------------------------------------------- |
| \`${`${kind}.ts\``.padEnd(17)} | the kind: its fields, their limits and the columns of \`kubectl get\`               |
| \`children.ts\`      | the desired children. Pure                                                         |
| \`controller.ts\`    | the reconcile                                                                      |
| \`*.test.ts\`        | the tests, on the embedded cluster                                                 |

\`\`\`sh
${columns([
  [`bun test controllers/${name}`, "# the tests"],
  ["bun controllers/main.ts run --install-crds", "# on the cluster of your kubeconfig"],
  [`kubectl apply -f deploy/samples/${name}.yaml`],
  [`kubectl wait --for=condition=Ready ${name}/demo-${name}`],
  [`bun controllers/main.ts why ${name}/demo-${name}`, "# what the controller did about it, and why"]
])}
\`\`\`
`
