/**
 * `why KIND/NAME`: asks a running manager for the history of an object. The answer is the page of `manager/why/Page`. The verb sends no
 * request to the API server.
 *
 * The exit code is 0 for a healthy object, 3 for one that is not healthy, and 4 for one that the manager does not know. 1: no manager
 * answered. 2: the request is invalid.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as KubeConfig from "../client/KubeConfig.ts"
import type { Controller } from "../controller/Controller.ts"
import * as Health from "../manager/why/Health.ts"
import * as Asking from "./Asking.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"

/** A program and its kinds, for the examples. */
export interface Explained extends Verb.Named {
  readonly controllers: ReadonlyArray<Pick<Controller<never>, "resource">>
}

/** An object of the first kind of a program: `webapp/shop`. */
const exampleOf = ({ controllers: [first] }: Explained): string =>
  `${first?.resource.kind.toLowerCase() ?? "deployment"}/shop`

/** The object that the arguments name: `webapp/shop`, or `webapp shop`. */
export const objectOf = (
  words: ReadonlyArray<string>,
  example: string
): Result.Result<{ readonly kind: string; readonly name: string }, string> => {
  const [kind = "", name = "", ...rest] = words.flatMap((word) => word.split("/"))
  if (words.length === 0) return Result.fail(`an object is required: KIND/NAME, such as ${example}`)
  return kind === "" || name === "" || rest.length > 0
    ? Result.fail(`invalid object: "${words.join(" ")}" (must be KIND/NAME, such as ${example})`)
    : Result.map(Flags.objectName(name), () => ({ kind, name }))
}

const flags = {
  ...Flags.cluster,
  namespace: Flag.short(
    "n",
    Flag.parsed("namespace", {
      placeholder: "NAME",
      description: "The namespace of the object (default that of the kubeconfig context, or else default)",
      parse: Flags.namespaceName,
      otherwise: undefined
    })
  ),
  controller: Flag.text("controller", {
    placeholder: "NAME",
    description: "Only what this controller knows, where several reconcile the kind"
  }),
  ...Asking.flags("/why"),
  output: Asking.output
}

type Settings = Flag.Values<typeof flags>

/** The namespace of the context, as kubectl selects it. An invalid or missing default kubeconfig is not an error. */
const namespaceOf = ({ context, kubeconfig, namespace }: Settings) => {
  if (namespace !== undefined) return Effect.succeed(namespace)
  const wanted = context !== undefined || "kubeconfig" in kubeconfig
  return KubeConfig.namespaceOf({ ...kubeconfig, context }).pipe(
    Effect.map((namespace) => namespace ?? "default"),
    Effect.catch((error) => (wanted ? Effect.fail(error) : Effect.succeed("default")))
  )
}

/** The verb. */
export const verb = (program: Explained) =>
  Verb.make("why", {
    description: "Explain what a running manager did about an object, and what is next",
    words: { placeholder: "KIND/NAME", most: 2 },
    flags,
    examples: [
      ["Explain an object in a namespace.", `why ${exampleOf(program)} -n default`],
      ["Ask a manager at another address.", `why ${exampleOf(program)} --probe-address=http://127.0.0.1:9081`]
    ],
    run: (settings, words) =>
      Effect.gen(function* () {
        const object = objectOf(words, exampleOf(program))
        if (Result.isFailure(object)) return yield* new Verb.UsageError({ message: object.failure })
        const namespace = yield* namespaceOf(settings)
        const { controller, output } = settings
        const query = { ...object.success, namespace, output, ...(controller !== undefined && { controller }) }
        // An error has the format of the answer: in JSON, the line is a field.
        let code = 0
        const text = yield* Asking.text(program.name, settings, "/why", query, (answer) =>
          Effect.sync(() => {
            code = Health.codeOf(answer.header(Health.header))
            return answer.status === 400 && output === "json" ? { ...answer, body: errorIn(answer.body) } : answer
          })
        )
        yield* Output.print(text)
        if (code !== 0) return yield* new Verb.Logged({ code })
      })
  })

const errorIn = (body: string): string => {
  try {
    const value: unknown = JSON.parse(body)
    const error: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "error") : undefined
    return typeof error === "string" ? error : body
  } catch {
    return body
  }
}
